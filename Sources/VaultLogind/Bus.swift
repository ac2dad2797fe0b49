#if Logind
    internal import CSystemd
    internal import Foundation
    internal import VaultBackground

    /// The reason why the bus, or a service on it, refused a request.
    struct BusError: Error {
        /// The error number, as in `errno`.
        let number: Int32
        /// The error's name; nil if there was no error answer.
        var name: String?

        /// Returns the result of an sd-bus function, or throws if it is an error.
        @discardableResult
        static func check(_ result: Int32, _ answer: sd_bus_error = sd_bus_error()) throws(BusError) -> Int32 {
            if result < 0 { throw BusError(number: -result, name: answer.name.map { String(cString: $0) }) }
            return result
        }
    }

    /// A connection to a message bus, for one thread.
    final class Bus {
        private let bus: OpaquePointer
        private let end: EventDescriptor
        /// The time limit for an answer, in microseconds.
        private static let patience: UInt64 = 5_000_000

        /// Connects and says hello.
        ///
        /// - Parameters:
        ///   - address: a D-Bus address; nil for the system bus.
        ///   - end: a signal that ends all waiting.
        init(address: String?, end: EventDescriptor) throws(BusError) {
            var bus: OpaquePointer?
            try BusError.check(address == nil ? sd_bus_open_system(&bus) : sd_bus_new(&bus))
            guard let bus else { throw BusError(number: ENOMEM) }
            self.bus = bus
            self.end = end
            if let address {
                try BusError.check(sd_bus_set_address(bus, address))
                try BusError.check(sd_bus_set_bus_client(bus, 1))
                try BusError.check(sd_bus_start(bus))
            }
            try BusError.check(sd_bus_set_method_call_timeout(bus, Self.patience))
            while try BusError.check(sd_bus_is_ready(bus)) == 0 {
                if try BusError.check(sd_bus_process(bus, nil)) > 0 { continue }
                guard try wait() else { throw BusError(number: ECANCELED) }
            }
        }

        deinit { sd_bus_close_unref(bus) }

        /// Subscribes to a signal, with an optional condition (D-Bus specification, match rules).
        func subscribe(to source: BusTarget, _ signal: String, _ condition: String? = nil) throws(BusError) {
            var rule = "type='signal',sender='\(source.service)',path='\(source.path)',"
            rule += "interface='\(source.interface)',member='\(signal)'"
            if let condition { rule += ",\(condition)" }
            // `next()` returns the signals, so the handler has nothing to do.
            try BusError.check(sd_bus_add_match(bus, nil, rule, { _, _, _ in 0 }, nil))
        }

        /// Calls a method and waits for the answer.
        func call(_ target: BusTarget, _ method: String, _ arguments: BusValue...) throws(BusError) -> BusMessage {
            var pointer: OpaquePointer?
            try BusError.check(
                sd_bus_message_new_method_call(
                    bus, &pointer, target.service, target.path, target.interface, method))
            guard let pointer else { throw BusError(number: ENOMEM) }
            let call = BusMessage(pointer)
            for argument in arguments { try call.append(argument) }
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            var answer: OpaquePointer?
            try BusError.check(sd_bus_call(bus, pointer, 0, &error, &answer), error)
            guard let answer else { throw BusError(number: ENOMEM) }
            return BusMessage(answer)
        }

        /// Reads a boolean property.
        func flag(_ target: BusTarget, _ property: String) throws(BusError) -> Bool {
            var value: Int32 = 0
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            let result = sd_bus_get_property_trivial(
                bus, target.service, target.path, target.interface, property, &error, BusMessage.flag, &value)
            try BusError.check(result, error)
            return value != 0
        }

        /// Waits for the next message. Returns nil if `end` was signalled.
        func next() throws(BusError) -> BusMessage? {
            while true {
                var message: OpaquePointer?
                let didSomething = try BusError.check(sd_bus_process(bus, &message)) > 0
                if let message { return BusMessage(message) }
                if didSomething { continue }
                guard try wait() else { return nil }
            }
        }

        /// Waits until there is work. Returns false if `end` was signalled.
        private func wait() throws(BusError) -> Bool {
            var wanted = [
                pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(
                    fd: try BusError.check(sd_bus_get_fd(bus)),
                    events: Int16(truncatingIfNeeded: try BusError.check(sd_bus_get_events(bus))), revents: 0),
            ]
            // The latest time for the next call of sd-bus, in microseconds of the monotonic clock.
            var deadline: UInt64 = 0
            try BusError.check(sd_bus_get_timeout(bus, &deadline))
            var milliseconds: Int32 = -1
            if deadline != .max {
                var now = timespec()
                guard clock_gettime(CLOCK_MONOTONIC, &now) == 0 else { throw BusError(number: errno) }
                let left = Int64(clamping: deadline) - Int64(now.tv_sec) * 1_000_000 - Int64(now.tv_nsec) / 1000
                milliseconds = Int32(clamping: max(0, left) / 1000 + 1)
            }
            guard poll(&wanted, 2, milliseconds) >= 0 || errno == EINTR else { throw BusError(number: errno) }
            return wanted[0].revents == 0
        }
    }
#endif
