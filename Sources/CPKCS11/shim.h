/* p11-kit, with the names of the PKCS#11 standard. Nothing is linked: VaultPKCS11 opens the library at first use.
   p11-kit's headers include each other by a folder that only its pkg-config file names, and that file also links the
   library. So the functions are declared here. A test compares them with p11-kit's own headers. */
#include "../CLinux/library.h"
#include <p11-kit-1/p11-kit/pkcs11.h>

/* p11-kit's own headers are not included here. Only the test includes them before this file. */
#ifndef P11_KIT_URI_H
typedef struct p11_kit_uri P11KitUri;
typedef enum { P11_KIT_URI_FOR_TOKEN = 1 << 2, P11_KIT_URI_FOR_ANY = 0xFFFF } P11KitUriType;
enum { P11_KIT_MODULE_TRUSTED = 1 << 2 };
#endif

CK_FUNCTION_LIST **p11_kit_modules_load(const char *reserved, int flags);
void p11_kit_modules_release(CK_FUNCTION_LIST **modules);
CK_FUNCTION_LIST *p11_kit_module_load(const char *module_path, int flags);
CK_RV p11_kit_module_initialize(CK_FUNCTION_LIST *module);
CK_RV p11_kit_module_finalize(CK_FUNCTION_LIST *module);
void p11_kit_module_release(CK_FUNCTION_LIST *module);
char *p11_kit_module_get_name(CK_FUNCTION_LIST *module);
int p11_kit_module_get_flags(CK_FUNCTION_LIST *module);
const char *p11_kit_strerror(CK_RV code);
P11KitUri *p11_kit_uri_new(void);
void p11_kit_uri_free(P11KitUri *uri);
int p11_kit_uri_parse(const char *string, P11KitUriType uri_type, P11KitUri *uri);
int p11_kit_uri_format(P11KitUri *uri, P11KitUriType uri_type, char **string);
int p11_kit_uri_any_unrecognized(P11KitUri *uri);
const char *p11_kit_uri_get_module_path(const P11KitUri *uri);
const char *p11_kit_uri_get_module_name(const P11KitUri *uri);
CK_SLOT_ID p11_kit_uri_get_slot_id(P11KitUri *uri);
CK_TOKEN_INFO *p11_kit_uri_get_token_info(P11KitUri *uri);
CK_ATTRIBUTE *p11_kit_uri_get_attribute(P11KitUri *uri, CK_ATTRIBUTE_TYPE type);
int p11_kit_uri_match_module_info(const P11KitUri *uri, const CK_INFO *info);
int p11_kit_uri_match_slot_info(const P11KitUri *uri, const CK_SLOT_INFO *info);
int p11_kit_uri_match_token_info(const P11KitUri *uri, const CK_TOKEN_INFO *info);

#define LIBP11KIT(FUNCTION) \
    FUNCTION(p11_kit_modules_load) \
    FUNCTION(p11_kit_modules_release) \
    FUNCTION(p11_kit_module_load) \
    FUNCTION(p11_kit_module_initialize) \
    FUNCTION(p11_kit_module_finalize) \
    FUNCTION(p11_kit_module_release) \
    FUNCTION(p11_kit_module_get_name) \
    FUNCTION(p11_kit_module_get_flags) \
    FUNCTION(p11_kit_strerror) \
    FUNCTION(p11_kit_uri_new) \
    FUNCTION(p11_kit_uri_free) \
    FUNCTION(p11_kit_uri_parse) \
    FUNCTION(p11_kit_uri_format) \
    FUNCTION(p11_kit_uri_any_unrecognized) \
    FUNCTION(p11_kit_uri_get_module_path) \
    FUNCTION(p11_kit_uri_get_module_name) \
    FUNCTION(p11_kit_uri_get_slot_id) \
    FUNCTION(p11_kit_uri_get_token_info) \
    FUNCTION(p11_kit_uri_get_attribute) \
    FUNCTION(p11_kit_uri_match_module_info) \
    FUNCTION(p11_kit_uri_match_slot_info) \
    FUNCTION(p11_kit_uri_match_token_info)

LIBRARY(LibP11Kit, LIBP11KIT)

/* With these two functions, tests have modules of their own. p11-kit may change the first one. */
void p11_kit_override_system_files(const char *system_conf, const char *user_conf, const char *package_modules,
                                   const char *system_modules, const char *user_modules);
CK_FUNCTION_LIST *p11_kit_module_for_name(CK_FUNCTION_LIST **modules, const char *name);

#define LIBP11KIT_FOR_TESTS(FUNCTION) \
    FUNCTION(p11_kit_override_system_files) \
    FUNCTION(p11_kit_module_for_name)

LIBRARY(LibP11KitForTests, LIBP11KIT_FOR_TESTS)
