/* p11-kit, with the names of the PKCS#11 standard. */
#define P11_KIT_DISABLE_DEPRECATED
/* For p11_kit_override_system_files, by which tests have modules of their own. */
#define P11_KIT_FUTURE_UNSTABLE_API
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>
