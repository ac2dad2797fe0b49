// What Swift cannot call by itself: variadic C functions.
#pragma once
#include <sys/prctl.h>

/// No core dump, and no reading of this process's memory by others of the same user. Returns 0 on success.
static inline int process_set_not_dumpable(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
