/* libqrencode. Nothing is linked: VaultCommands opens the library at first use. The two functions are declared here, so
   that a build needs no package of libqrencode. A test compares the declarations with the library's own header. */
#include "../CLinux/library.h"

/* libqrencode's own header is not included here. Only the test includes it before this file. */
#ifndef QRENCODE_H
typedef enum { QR_ECLEVEL_L = 0 } QRecLevel;
typedef struct {
    int version;
    int width;
    unsigned char *data;
} QRcode;
#endif

QRcode *QRcode_encodeString8bit(const char *string, int version, QRecLevel level);
void QRcode_free(QRcode *code);

#define LIBQRENCODE(FUNCTION) \
    FUNCTION(QRcode_encodeString8bit) \
    FUNCTION(QRcode_free)

LIBRARY(LibQRencode, LIBQRENCODE)
