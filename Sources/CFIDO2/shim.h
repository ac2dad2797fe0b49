/* The client side of CTAP (libfido2), and what is needed to tidy up behind it. */
#include <string.h>
#include <fido.h>
#include <fido/es256.h>

/* Overwrites what functions that have returned left on the stack: more than the libraries use. */
__attribute__((noinline)) static void fido2_wipe_stack(void) {
    char below[128 * 1024];
    explicit_bzero(below, sizeof below);
}
