#if Logind
    internal import CSystemd
    internal import Foundation

    /// An interface of a service's object on the bus.
    struct BusTarget {
        let service: String
        let path: String
        let interface: String
    }

    /// An argument of a method.
    enum BusValue {
        case string(String)
        case number(UInt32)
    }

    /// A message from or to the bus. Each read goes on to the next value.
    final class BusMessage {
        static let string = CChar(UInt8(ascii: "s"))
        static let path = CChar(UInt8(ascii: "o"))
        static let flag = CChar(UInt8(ascii: "b"))
        private static let number = CChar(UInt8(ascii: "u"))
        private static let descriptor = CChar(UInt8(ascii: "h"))

        private let message: OpaquePointer

        /// Takes over the caller's reference.
        init(_ message: OpaquePointer) { self.message = message }

        deinit { sd_bus_message_unref(message) }

        func append(_ value: BusValue) throws(BusError) {
            switch value {
            case .string(let text):
                try BusError.check(sd_bus_message_append_basic(message, Self.string, text))
            case .number(var number):
                try BusError.check(sd_bus_message_append_basic(message, Self.number, &number))
            }
        }

        /// The path of the object that sent a signal.
        var path: String? { sd_bus_message_get_path(message).map { String(cString: $0) } }

        /// Whether it is this signal from exactly this connection. Anybody may send a signal directly to us.
        func isSignal(_ member: String, of interface: String, from sender: String) -> Bool {
            guard sd_bus_message_is_signal(message, interface, member) > 0,
                let actual = sd_bus_message_get_sender(message)
            else { return false }
            return String(cString: actual) == sender
        }

        /// Reads a string, or with the type `path` the path of an object.
        func readString(type: CChar = string) throws(BusError) -> String {
            var text: UnsafePointer<CChar>?
            guard try BusError.check(sd_bus_message_read_basic(message, type, &text)) > 0, let text else {
                throw BusError(number: ENXIO)
            }
            return String(cString: text)
        }

        func readFlag() throws(BusError) -> Bool {
            var value: Int32 = 0
            guard try BusError.check(sd_bus_message_read_basic(message, Self.flag, &value)) > 0 else {
                throw BusError(number: ENXIO)
            }
            return value != 0
        }

        /// Reads a file descriptor. The caller closes it.
        func readDescriptor() throws(BusError) -> Int32 {
            var descriptor: Int32 = -1
            guard try BusError.check(sd_bus_message_read_basic(message, Self.descriptor, &descriptor)) > 0 else {
                throw BusError(number: ENXIO)
            }
            // The message closes its own descriptor.
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw BusError(number: errno) }
            return copy
        }

        /// Reads a boolean property from a dictionary of changed ones (`a{sv}`).
        func readFlag(ofProperty wanted: String) throws(BusError) -> Bool? {
            var result: Bool?
            try BusError.check(sd_bus_message_enter_container(message, CChar(UInt8(ascii: "a")), "{sv}"))
            while try BusError.check(
                sd_bus_message_enter_container(message, CChar(UInt8(ascii: "e")), "sv")) > 0
            {
                if try readString() == wanted {
                    try BusError.check(sd_bus_message_enter_container(message, CChar(UInt8(ascii: "v")), "b"))
                    result = try readFlag()
                    try BusError.check(sd_bus_message_exit_container(message))
                } else {
                    try BusError.check(sd_bus_message_skip(message, "v"))
                }
                try BusError.check(sd_bus_message_exit_container(message))
            }
            try BusError.check(sd_bus_message_exit_container(message))
            return result
        }
    }
#endif
