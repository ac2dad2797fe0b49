/* The TPM 2.0 software stack (tpm2-tss). Nothing is linked: VaultTPM2 opens the libraries at first use. */
#include "../CLinux/library.h"
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_sys.h>
#include <tss2/tss2_tctildr.h>

#define LIBTSS2(FUNCTION) \
    FUNCTION(Tss2_TctiLdr_Initialize) \
    FUNCTION(Tss2_TctiLdr_Finalize) \
    FUNCTION(Tss2_RC_Decode) \
    FUNCTION(Esys_Initialize) \
    FUNCTION(Esys_Finalize) \
    FUNCTION(Esys_Free) \
    FUNCTION(Esys_GetCapability) \
    FUNCTION(Esys_PCR_Read) \
    FUNCTION(Esys_StartAuthSession) \
    FUNCTION(Esys_TRSess_SetAttributes) \
    FUNCTION(Esys_PolicyPCR) \
    FUNCTION(Esys_PolicyAuthValue) \
    FUNCTION(Esys_CreatePrimary) \
    FUNCTION(Esys_Create) \
    FUNCTION(Esys_Load) \
    FUNCTION(Esys_Unseal) \
    FUNCTION(Esys_ContextSave) \
    FUNCTION(Esys_ContextLoad) \
    FUNCTION(Esys_FlushContext) \
    FUNCTION(Esys_TR_FromTPMPublic) \
    FUNCTION(Esys_TR_SetAuth) \
    FUNCTION(Esys_TR_Serialize) \
    FUNCTION(Esys_TR_GetTpmHandle) \
    FUNCTION(Esys_TR_Close) \
    FUNCTION(Esys_GetSysContext) \
    FUNCTION(Tss2_Sys_FlushContext) \
    FUNCTION(Tss2_MU_TPM2B_PRIVATE_Marshal) \
    FUNCTION(Tss2_MU_TPM2B_PRIVATE_Unmarshal) \
    FUNCTION(Tss2_MU_TPM2B_PUBLIC_Marshal) \
    FUNCTION(Tss2_MU_TPM2B_PUBLIC_Unmarshal) \
    FUNCTION(Tss2_MU_TPML_PCR_SELECTION_Marshal) \
    FUNCTION(Tss2_MU_TPMS_CONTEXT_Marshal) \
    FUNCTION(Tss2_MU_TPMS_CONTEXT_Unmarshal)

LIBRARY(LibTSS2, LIBTSS2)
