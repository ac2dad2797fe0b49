/* p11-kit, with the names of the PKCS#11 standard, and what is needed to tidy up behind the modules. */
#include <string.h>

#define P11_KIT_DISABLE_DEPRECATED
/* For p11_kit_override_system_files, by which tests have modules of their own. */
#define P11_KIT_FUTURE_UNSTABLE_API
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>

/* Behind _GNU_SOURCE in string.h, which changes what other headers say to other modules. */
extern void *memmem(const void *, size_t, const void *, size_t);

/* Overwrites what functions that have returned left on the stack: more than most modules use. */
__attribute__((noinline)) static void pkcs11_wipe_stack(void) {
    char below[128 * 1024];
    explicit_bzero(below, sizeof below);
}
