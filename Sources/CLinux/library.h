/* The functions of a shared library that a program opens when it needs them first (dlopen(3)). No program is linked to
   the library, so a machine without it runs the program.

   LIBRARY(Name, LIST) declares the structure Name, which has a pointer to each function of LIST, with the function's
   own name and declared type. LIST is a macro: #define LIST(FUNCTION) FUNCTION(one) FUNCTION(two).

   Name_find looks for the functions in an open library. It returns the name of the first function that neither this
   library nor an earlier one has, or NULL if there is none. The structure is all zero before the first call. */
#ifndef CREDENTIAL_VAULT_LIBRARY
#define CREDENTIAL_VAULT_LIBRARY

#include <dlfcn.h>

/* Only the pointers to functions say that they are never null. */
#pragma clang diagnostic ignored "-Wnullability-completeness"

#define LIBRARY_POINTER(function) __typeof__(function) *_Nonnull function;
#define LIBRARY_FIND(function) \
    if (!functions->function) functions->function = (__typeof__(function) *)dlsym(library, #function); \
    if (!functions->function && !missing) missing = #function;
#define LIBRARY(Name, LIST) \
    struct Name { LIST(LIBRARY_POINTER) }; \
    static inline const char *_Nullable Name##_find(void *_Nonnull library, struct Name *_Nonnull functions) { \
        const char *missing = 0; \
        LIST(LIBRARY_FIND) \
        return missing; \
    }

#endif
