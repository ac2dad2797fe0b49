/* The functions of libsystemd that VaultDBus calls (sd-bus(3)). They are declared here, so that a build needs no
   package of libsystemd. Nothing is linked: the library is opened at run time, and each function has a type with its
   name and _f for that. A test compares the declarations with systemd's own header. */
#include <stddef.h>
#include <stdint.h>

/* systemd's own header is not included here. Only the test includes it before this file. */
#ifndef foosdbushfoo
typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_slot sd_bus_slot;
typedef struct {
    const char *name;
    const char *message;
    int _need_free;
} sd_bus_error;
typedef int (*sd_bus_message_handler_t)(sd_bus_message *message, void *userdata, sd_bus_error *error);
#endif

#define SYSTEMD_FUNCTION(result, name, ...) \
    result name(__VA_ARGS__); \
    typedef __typeof__(name) *name##_f;

SYSTEMD_FUNCTION(int, sd_bus_open_system, sd_bus **bus)
SYSTEMD_FUNCTION(int, sd_bus_open_user, sd_bus **bus)
SYSTEMD_FUNCTION(int, sd_bus_new, sd_bus **bus)
SYSTEMD_FUNCTION(int, sd_bus_set_address, sd_bus *bus, const char *address)
SYSTEMD_FUNCTION(int, sd_bus_set_bus_client, sd_bus *bus, int is_client)
SYSTEMD_FUNCTION(int, sd_bus_start, sd_bus *bus)
SYSTEMD_FUNCTION(int, sd_bus_is_ready, sd_bus *bus)
SYSTEMD_FUNCTION(sd_bus *, sd_bus_close_unref, sd_bus *bus)
SYSTEMD_FUNCTION(int, sd_bus_set_method_call_timeout, sd_bus *bus, uint64_t microseconds)
SYSTEMD_FUNCTION(int, sd_bus_process, sd_bus *bus, sd_bus_message **message)
SYSTEMD_FUNCTION(int, sd_bus_get_fd, sd_bus *bus)
SYSTEMD_FUNCTION(int, sd_bus_get_events, sd_bus *bus)
SYSTEMD_FUNCTION(int, sd_bus_get_timeout, sd_bus *bus, uint64_t *microseconds)
SYSTEMD_FUNCTION(int, sd_bus_add_match, sd_bus *bus, sd_bus_slot **slot, const char *match,
                 sd_bus_message_handler_t callback, void *userdata)
SYSTEMD_FUNCTION(int, sd_bus_call, sd_bus *bus, sd_bus_message *call, uint64_t microseconds, sd_bus_error *error,
                 sd_bus_message **answer)
SYSTEMD_FUNCTION(int, sd_bus_get_property_trivial, sd_bus *bus, const char *destination, const char *path,
                 const char *interface, const char *member, sd_bus_error *error, char type, void *value)
SYSTEMD_FUNCTION(void, sd_bus_error_free, sd_bus_error *error)

SYSTEMD_FUNCTION(int, sd_bus_message_new_method_call, sd_bus *bus, sd_bus_message **message, const char *destination,
                 const char *path, const char *interface, const char *member)
SYSTEMD_FUNCTION(sd_bus_message *, sd_bus_message_unref, sd_bus_message *message)
SYSTEMD_FUNCTION(int, sd_bus_message_sensitive, sd_bus_message *message)
SYSTEMD_FUNCTION(int, sd_bus_message_append_basic, sd_bus_message *message, char type, const void *value)
SYSTEMD_FUNCTION(int, sd_bus_message_append_array, sd_bus_message *message, char type, const void *values, size_t size)
SYSTEMD_FUNCTION(int, sd_bus_message_open_container, sd_bus_message *message, char type, const char *contents)
SYSTEMD_FUNCTION(int, sd_bus_message_close_container, sd_bus_message *message)
SYSTEMD_FUNCTION(int, sd_bus_message_read_basic, sd_bus_message *message, char type, void *value)
SYSTEMD_FUNCTION(int, sd_bus_message_read_array, sd_bus_message *message, char type, const void **values, size_t *size)
SYSTEMD_FUNCTION(int, sd_bus_message_enter_container, sd_bus_message *message, char type, const char *contents)
SYSTEMD_FUNCTION(int, sd_bus_message_exit_container, sd_bus_message *message)
SYSTEMD_FUNCTION(int, sd_bus_message_skip, sd_bus_message *message, const char *types)
SYSTEMD_FUNCTION(const char *, sd_bus_message_get_path, sd_bus_message *message)
SYSTEMD_FUNCTION(const char *, sd_bus_message_get_sender, sd_bus_message *message)
SYSTEMD_FUNCTION(int, sd_bus_message_is_signal, sd_bus_message *message, const char *interface, const char *member)
