internal import CSystemd
internal import Foundation
package import VaultBackground

/// The reason why the bus, or a service on it, refused a request.
package struct BusError: Error {
    /// The error number, as in `errno`.
    package let number: Int32
    /// The error's name; nil if there was no error answer.
    package let name: String?

    package init(number: Int32, name: String? = nil) {
        self.number = number
        self.name = name
    }

    /// The machine has no libsystemd, or an incomplete one.
    package static let libraryMissing = BusError(number: ELIBACC)

    /// Returns the result of an sd-bus function, or throws if it is an error.
    @discardableResult
    static func check(_ result: Int32, _ answer: sd_bus_error = sd_bus_error()) throws(BusError) -> Int32 {
        if result < 0 { throw BusError(number: -result, name: answer.name.map { String(cString: $0) }) }
        return result
    }
}

/// A message bus.
package enum BusPlace: Sendable {
    /// The machine's bus.
    case system
    /// The bus of the person's desktop session, or else of the person's systemd (`DBUS_SESSION_BUS_ADDRESS`,
    /// `XDG_RUNTIME_DIR`).
    case session
    /// The bus at a D-Bus address.
    case address(String)
}

/// A connection to a message bus, for one thread.
package final class Bus {
    private let library: LibSystemd
    private let bus: OpaquePointer
    private let end: EventDescriptor

    /// Connects and says hello.
    ///
    /// - Parameters:
    ///   - end: a signal that ends all waiting for messages.
    ///   - timeout: the time limit for the connection, and then for each answer. A bus may accept and never answer.
    package init(
        _ library: LibSystemd, to place: BusPlace, end: EventDescriptor, timeout: Duration
    ) throws(BusError) {
        let deadline = Self.now + Self.microseconds(timeout)
        var bus: OpaquePointer?
        switch place {
        case .system: try BusError.check(library.bus.sd_bus_open_system(&bus))
        case .session: try BusError.check(library.bus.sd_bus_open_user(&bus))
        case .address: try BusError.check(library.bus.sd_bus_new(&bus))
        }
        guard let bus else { throw BusError(number: ENOMEM) }
        self.library = library
        self.bus = bus
        self.end = end
        if case .address(let address) = place {
            try BusError.check(library.bus.sd_bus_set_address(bus, address))
            try BusError.check(library.bus.sd_bus_set_bus_client(bus, 1))
            try BusError.check(library.bus.sd_bus_start(bus))
        }
        try BusError.check(library.bus.sd_bus_set_method_call_timeout(bus, Self.microseconds(timeout)))
        // sd-bus itself would wait for 90 seconds.
        while try BusError.check(library.bus.sd_bus_is_ready(bus)) == 0 {
            guard Self.now < deadline else { throw BusError(number: ETIMEDOUT) }
            if try BusError.check(library.bus.sd_bus_process(bus, nil)) > 0 { continue }
            guard try wait(until: deadline) else { throw BusError(number: ECANCELED) }
        }
    }

    deinit { _ = library.bus.sd_bus_close_unref(bus) }

    /// Subscribes to a signal, with an optional condition (D-Bus specification, match rules).
    ///
    /// - Parameter key: `path_namespace` for all objects below the path.
    package func subscribe(
        to source: BusTarget, _ signal: String, _ condition: String? = nil, by key: String = "path"
    ) throws(BusError) {
        var rule = "type='signal',sender='\(source.service)',\(key)='\(source.path)',"
        rule += "interface='\(source.interface)',member='\(signal)'"
        if let condition { rule += ",\(condition)" }
        // `next()` returns the signals, so the handler has nothing to do.
        try BusError.check(library.bus.sd_bus_add_match(bus, nil, rule, { _, _, _ in 0 }, nil))
    }

    /// Calls a method and waits for the answer.
    package func call(
        _ target: BusTarget, _ method: String, _ arguments: BusValue...
    ) throws(BusError) -> BusMessage {
        try call(target, method) { message throws(BusError) in
            for argument in arguments { try message.append(argument) }
        }
    }

    /// As ``call(_:_:_:)``, with arguments that `fill` appends.
    ///
    /// - Parameter isSecret: whether the message and the answer are wiped when they are released.
    package func call(
        _ target: BusTarget, _ method: String, isSecret: Bool = false,
        _ fill: (BusMessage) throws(BusError) -> Void
    ) throws(BusError) -> BusMessage {
        var pointer: OpaquePointer?
        try BusError.check(
            library.bus.sd_bus_message_new_method_call(
                bus, &pointer, target.service, target.path, target.interface, method))
        guard let pointer else { throw BusError(number: ENOMEM) }
        let call = BusMessage(library, pointer)
        if isSecret { try BusError.check(library.bus.sd_bus_message_sensitive(pointer)) }
        try fill(call)
        var error = sd_bus_error()
        defer { library.bus.sd_bus_error_free(&error) }
        var answer: OpaquePointer?
        try BusError.check(library.bus.sd_bus_call(bus, pointer, 0, &error, &answer), error)
        guard let answer else { throw BusError(number: ENOMEM) }
        let message = BusMessage(library, answer)
        if isSecret { try BusError.check(library.bus.sd_bus_message_sensitive(answer)) }
        return message
    }

    /// Reads a boolean property.
    package func flag(_ target: BusTarget, _ property: String) throws(BusError) -> Bool {
        var value: Int32 = 0
        var error = sd_bus_error()
        defer { library.bus.sd_bus_error_free(&error) }
        let result = library.bus.sd_bus_get_property_trivial(
            bus, target.service, target.path, target.interface, property, &error, BusMessage.flag, &value)
        try BusError.check(result, error)
        return value != 0
    }

    /// Waits for the next message. Returns nil if `end` was signalled.
    package func next() throws(BusError) -> BusMessage? {
        while true {
            var message: OpaquePointer?
            let didSomething = try BusError.check(library.bus.sd_bus_process(bus, &message)) > 0
            if let message { return BusMessage(library, message) }
            if didSomething { continue }
            guard try wait(until: .max) else { return nil }
        }
    }

    /// Waits until there is work, or until a time of the monotonic clock in microseconds. Returns false if `end` was
    /// signalled.
    private func wait(until deadline: UInt64) throws(BusError) -> Bool {
        var wanted = [
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: try BusError.check(library.bus.sd_bus_get_fd(bus)),
                events: Int16(truncatingIfNeeded: try BusError.check(library.bus.sd_bus_get_events(bus))), revents: 0),
        ]
        // The latest time for the next call of sd-bus.
        var work: UInt64 = 0
        try BusError.check(library.bus.sd_bus_get_timeout(bus, &work))
        var milliseconds: Int32 = -1
        if case let soonest = min(work, deadline), soonest != .max {
            // The wait is rounded up, as the rest of a millisecond would be a busy loop.
            milliseconds = Int32(clamping: (soonest - min(Self.now, soonest)) / 1000 + 1)
        }
        guard poll(&wanted, 2, milliseconds) >= 0 || errno == EINTR else { throw BusError(number: errno) }
        return wanted[0].revents == 0
    }

    /// The time of the monotonic clock, in microseconds, as sd-bus counts.
    private static var now: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
    }

    /// At most a day, so that no sum overflows.
    private static func microseconds(_ duration: Duration) -> UInt64 {
        UInt64(min(max(duration, .zero), .seconds(86_400)) / .microseconds(1))
    }
}
