internal import CSystemd
internal import Glibc

/// The functions of libsystemd. The library is opened at run time, so that each build can use the bus, and a machine
/// without the library only goes without it.
package final class LibSystemd: Sendable {
    package static let fileName = "libsystemd.so.0"

    let openSystem: sd_bus_open_system_f
    let openUser: sd_bus_open_user_f
    let new: sd_bus_new_f
    let setAddress: sd_bus_set_address_f
    let setBusClient: sd_bus_set_bus_client_f
    let start: sd_bus_start_f
    let isReady: sd_bus_is_ready_f
    let closeUnref: sd_bus_close_unref_f
    let setMethodCallTimeout: sd_bus_set_method_call_timeout_f
    let process: sd_bus_process_f
    let getDescriptor: sd_bus_get_fd_f
    let getEvents: sd_bus_get_events_f
    let getTimeout: sd_bus_get_timeout_f
    let addMatch: sd_bus_add_match_f
    let call: sd_bus_call_f
    let getPropertyTrivial: sd_bus_get_property_trivial_f
    let errorFree: sd_bus_error_free_f
    let messageNewMethodCall: sd_bus_message_new_method_call_f
    let messageUnref: sd_bus_message_unref_f
    let messageSensitive: sd_bus_message_sensitive_f
    let messageAppendBasic: sd_bus_message_append_basic_f
    let messageAppendArray: sd_bus_message_append_array_f
    let messageOpenContainer: sd_bus_message_open_container_f
    let messageCloseContainer: sd_bus_message_close_container_f
    let messageReadBasic: sd_bus_message_read_basic_f
    let messageReadArray: sd_bus_message_read_array_f
    let messageEnterContainer: sd_bus_message_enter_container_f
    let messageExitContainer: sd_bus_message_exit_container_f
    let messageSkip: sd_bus_message_skip_f
    let messageGetPath: sd_bus_message_get_path_f
    let messageGetSender: sd_bus_message_get_sender_f
    let messageIsSignal: sd_bus_message_is_signal_f

    /// Opens the library. It stays in the process, and opening it again costs nothing.
    ///
    /// - Throws: ``BusError/libraryMissing`` if the file or one of its functions is missing.
    package init(_ fileName: String = LibSystemd.fileName) throws(BusError) {
        guard let library = dlopen(fileName, RTLD_NOW | RTLD_LOCAL) else { throw BusError.libraryMissing }
        /// Sound because the module CSystemd declares the type of the function with this name.
        func load<Function>(_ name: String) throws(BusError) -> Function {
            guard let function = dlsym(library, name) else { throw BusError.libraryMissing }
            return unsafeBitCast(function, to: Function.self)
        }
        openSystem = try load("sd_bus_open_system")
        openUser = try load("sd_bus_open_user")
        new = try load("sd_bus_new")
        setAddress = try load("sd_bus_set_address")
        setBusClient = try load("sd_bus_set_bus_client")
        start = try load("sd_bus_start")
        isReady = try load("sd_bus_is_ready")
        closeUnref = try load("sd_bus_close_unref")
        setMethodCallTimeout = try load("sd_bus_set_method_call_timeout")
        process = try load("sd_bus_process")
        getDescriptor = try load("sd_bus_get_fd")
        getEvents = try load("sd_bus_get_events")
        getTimeout = try load("sd_bus_get_timeout")
        addMatch = try load("sd_bus_add_match")
        call = try load("sd_bus_call")
        getPropertyTrivial = try load("sd_bus_get_property_trivial")
        errorFree = try load("sd_bus_error_free")
        messageNewMethodCall = try load("sd_bus_message_new_method_call")
        messageUnref = try load("sd_bus_message_unref")
        messageSensitive = try load("sd_bus_message_sensitive")
        messageAppendBasic = try load("sd_bus_message_append_basic")
        messageAppendArray = try load("sd_bus_message_append_array")
        messageOpenContainer = try load("sd_bus_message_open_container")
        messageCloseContainer = try load("sd_bus_message_close_container")
        messageReadBasic = try load("sd_bus_message_read_basic")
        messageReadArray = try load("sd_bus_message_read_array")
        messageEnterContainer = try load("sd_bus_message_enter_container")
        messageExitContainer = try load("sd_bus_message_exit_container")
        messageSkip = try load("sd_bus_message_skip")
        messageGetPath = try load("sd_bus_message_get_path")
        messageGetSender = try load("sd_bus_message_get_sender")
        messageIsSignal = try load("sd_bus_message_is_signal")
    }
}
