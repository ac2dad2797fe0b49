/* The D-Bus client of systemd. */
#include <systemd/sd-bus.h>
