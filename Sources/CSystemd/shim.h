/* The functions of libsystemd that VaultDBus calls (sd-bus(3)). They are declared here, so that a build needs no
   package of libsystemd. Nothing is linked: VaultDBus opens the library at first use. A test compares the declarations
   with systemd's own header. */
#include "../CLinux/library.h"
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

int sd_bus_open_system(sd_bus **bus);
int sd_bus_open_user(sd_bus **bus);
int sd_bus_new(sd_bus **bus);
int sd_bus_set_address(sd_bus *bus, const char *address);
int sd_bus_set_bus_client(sd_bus *bus, int is_client);
int sd_bus_start(sd_bus *bus);
int sd_bus_is_ready(sd_bus *bus);
sd_bus *sd_bus_close_unref(sd_bus *bus);
int sd_bus_set_method_call_timeout(sd_bus *bus, uint64_t microseconds);
int sd_bus_process(sd_bus *bus, sd_bus_message **message);
int sd_bus_get_fd(sd_bus *bus);
int sd_bus_get_events(sd_bus *bus);
int sd_bus_get_timeout(sd_bus *bus, uint64_t *microseconds);
int sd_bus_add_match(sd_bus *bus, sd_bus_slot **slot, const char *match, sd_bus_message_handler_t callback,
                     void *userdata);
int sd_bus_call(sd_bus *bus, sd_bus_message *call, uint64_t microseconds, sd_bus_error *error, sd_bus_message **answer);
int sd_bus_get_property_trivial(sd_bus *bus, const char *destination, const char *path, const char *interface,
                                const char *member, sd_bus_error *error, char type, void *value);
void sd_bus_error_free(sd_bus_error *error);

int sd_bus_message_new_method_call(sd_bus *bus, sd_bus_message **message, const char *destination, const char *path,
                                   const char *interface, const char *member);
sd_bus_message *sd_bus_message_unref(sd_bus_message *message);
int sd_bus_message_sensitive(sd_bus_message *message);
int sd_bus_message_append_basic(sd_bus_message *message, char type, const void *value);
int sd_bus_message_append_array(sd_bus_message *message, char type, const void *values, size_t size);
int sd_bus_message_open_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_close_container(sd_bus_message *message);
int sd_bus_message_read_basic(sd_bus_message *message, char type, void *value);
int sd_bus_message_read_array(sd_bus_message *message, char type, const void **values, size_t *size);
int sd_bus_message_enter_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_exit_container(sd_bus_message *message);
int sd_bus_message_skip(sd_bus_message *message, const char *types);
const char *sd_bus_message_get_path(sd_bus_message *message);
const char *sd_bus_message_get_sender(sd_bus_message *message);
int sd_bus_message_is_signal(sd_bus_message *message, const char *interface, const char *member);

#define SDBUS(FUNCTION) \
    FUNCTION(sd_bus_open_system) \
    FUNCTION(sd_bus_open_user) \
    FUNCTION(sd_bus_new) \
    FUNCTION(sd_bus_set_address) \
    FUNCTION(sd_bus_set_bus_client) \
    FUNCTION(sd_bus_start) \
    FUNCTION(sd_bus_is_ready) \
    FUNCTION(sd_bus_close_unref) \
    FUNCTION(sd_bus_set_method_call_timeout) \
    FUNCTION(sd_bus_process) \
    FUNCTION(sd_bus_get_fd) \
    FUNCTION(sd_bus_get_events) \
    FUNCTION(sd_bus_get_timeout) \
    FUNCTION(sd_bus_add_match) \
    FUNCTION(sd_bus_call) \
    FUNCTION(sd_bus_get_property_trivial) \
    FUNCTION(sd_bus_error_free) \
    FUNCTION(sd_bus_message_new_method_call) \
    FUNCTION(sd_bus_message_unref) \
    FUNCTION(sd_bus_message_sensitive) \
    FUNCTION(sd_bus_message_append_basic) \
    FUNCTION(sd_bus_message_append_array) \
    FUNCTION(sd_bus_message_open_container) \
    FUNCTION(sd_bus_message_close_container) \
    FUNCTION(sd_bus_message_read_basic) \
    FUNCTION(sd_bus_message_read_array) \
    FUNCTION(sd_bus_message_enter_container) \
    FUNCTION(sd_bus_message_exit_container) \
    FUNCTION(sd_bus_message_skip) \
    FUNCTION(sd_bus_message_get_path) \
    FUNCTION(sd_bus_message_get_sender) \
    FUNCTION(sd_bus_message_is_signal)

LIBRARY(SDBus, SDBUS)
