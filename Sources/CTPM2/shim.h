/* The TPM 2.0 software stack (tpm2-tss), and what is needed to tidy up behind it. */
#include <malloc.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_sys.h>
#include <tss2/tss2_tctildr.h>

/* Copies memory of this process that may not be there: how many bytes were, or -1. */
static inline ssize_t tpm2_read_memory(void *target, size_t address, size_t count) {
    struct iovec local = {target, count}, remote = {(void *)address, count};
    return syscall(SYS_process_vm_readv, (long)getpid(), &local, 1UL, &remote, 1UL, 0UL);
}

/* Behind _GNU_SOURCE in string.h, which changes what other headers say to other modules. */
extern void *memmem(const void *, size_t, const void *, size_t);
