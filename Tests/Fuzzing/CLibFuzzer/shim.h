/* The entry of LLVM's libFuzzer, which `-sanitize=fuzzer` links. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *bytes, size_t count));
