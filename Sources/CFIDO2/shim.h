/* The client side of CTAP (libfido2). */
#include <fido.h>
#include <fido/es256.h>
