internal import CSystemd
internal import Foundation

/// An interface of a service's object on the bus.
package struct BusTarget: Sendable {
    package let service: String
    package let path: String
    package let interface: String

    package init(service: String, path: String, interface: String) {
        self.service = service
        self.path = path
        self.interface = interface
    }
}

/// A simple argument of a method.
package enum BusValue: Sendable {
    case string(String)
    /// The path of an object.
    case path(String)
    case number(UInt32)
    case flag(Bool)
}

/// A container of values in a message (D-Bus specification, "Container types").
package enum BusContainer: Sendable {
    case array, entry, structure, variant

    fileprivate var code: CChar {
        switch self {
        case .array: CChar(UInt8(ascii: "a"))
        case .entry: CChar(UInt8(ascii: "e"))
        case .structure: CChar(UInt8(ascii: "r"))
        case .variant: CChar(UInt8(ascii: "v"))
        }
    }
}

/// A message from or to the bus. Each read goes on to the next value.
package final class BusMessage {
    private static let string = CChar(UInt8(ascii: "s"))
    private static let path = CChar(UInt8(ascii: "o"))
    private static let byte = CChar(UInt8(ascii: "y"))
    private static let number = CChar(UInt8(ascii: "u"))
    private static let descriptor = CChar(UInt8(ascii: "h"))
    static let flag = CChar(UInt8(ascii: "b"))

    private let library: LibSystemd
    private let message: OpaquePointer

    /// Takes over the caller's reference.
    init(_ library: LibSystemd, _ message: OpaquePointer) {
        self.library = library
        self.message = message
    }

    deinit { _ = library.bus.sd_bus_message_unref(message) }

    // MARK: - Writing

    package func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .string(let text):
            try BusError.check(library.bus.sd_bus_message_append_basic(message, Self.string, text))
        case .path(let path):
            try BusError.check(library.bus.sd_bus_message_append_basic(message, Self.path, path))
        case .number(var number):
            try BusError.check(library.bus.sd_bus_message_append_basic(message, Self.number, &number))
        case .flag(let flag):
            var value: Int32 = flag ? 1 : 0
            try BusError.check(library.bus.sd_bus_message_append_basic(message, Self.flag, &value))
        }
    }

    /// Appends an array of bytes.
    package func append(bytes: UnsafeRawBufferPointer) throws(BusError) {
        try BusError.check(library.bus.sd_bus_message_append_array(message, Self.byte, bytes.baseAddress, bytes.count))
    }

    /// Appends a container with what `fill` appends.
    ///
    /// - Parameter contents: the types of its values, as a D-Bus signature.
    package func append(
        _ container: BusContainer, of contents: String, _ fill: () throws(BusError) -> Void
    ) throws(BusError) {
        try BusError.check(library.bus.sd_bus_message_open_container(message, container.code, contents))
        try fill()
        try BusError.check(library.bus.sd_bus_message_close_container(message))
    }

    // MARK: - Reading

    /// The path of the object that sent a signal.
    package var path: String? { library.bus.sd_bus_message_get_path(message).map { String(cString: $0) } }

    /// Whether it is this signal from exactly this connection. Anybody may send a signal directly to us.
    package func isSignal(_ member: String, of interface: String, from sender: String) -> Bool {
        guard library.bus.sd_bus_message_is_signal(message, interface, member) > 0,
            let actual = library.bus.sd_bus_message_get_sender(message)
        else { return false }
        return String(cString: actual) == sender
    }

    package func readString() throws(BusError) -> String { try required(text(Self.string)) }

    /// Reads the path of an object.
    package func readPath() throws(BusError) -> String { try required(text(Self.path)) }

    /// Reads an array of paths.
    package func readPaths() throws(BusError) -> [String] {
        var paths: [String] = []
        guard try enter(.array, of: "o") else { throw BusError(number: ENXIO) }
        while let path = try text(Self.path) { paths.append(path) }
        try leave()
        return paths
    }

    package func readNumber() throws(BusError) -> UInt32 {
        var value: UInt32 = 0
        guard try BusError.check(library.bus.sd_bus_message_read_basic(message, Self.number, &value)) > 0 else {
            throw BusError(number: ENXIO)
        }
        return value
    }

    package func readFlag() throws(BusError) -> Bool {
        var value: Int32 = 0
        guard try BusError.check(library.bus.sd_bus_message_read_basic(message, Self.flag, &value)) > 0 else {
            throw BusError(number: ENXIO)
        }
        return value != 0
    }

    /// Reads an array of bytes. They stay in the message, so they must not be used after it.
    package func readBytes() throws(BusError) -> UnsafeRawBufferPointer {
        var start: UnsafeRawPointer?
        var count = 0
        guard try BusError.check(library.bus.sd_bus_message_read_array(message, Self.byte, &start, &count)) > 0 else {
            throw BusError(number: ENXIO)
        }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Reads a file descriptor. The caller closes it.
    package func readDescriptor() throws(BusError) -> Int32 {
        var descriptor: Int32 = -1
        guard
            try BusError.check(library.bus.sd_bus_message_read_basic(message, Self.descriptor, &descriptor)) > 0
        else { throw BusError(number: ENXIO) }
        // The message closes its own descriptor.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw BusError(number: errno) }
        return copy
    }

    /// Enters the next container. Returns false if the container around it has no more.
    package func enter(_ container: BusContainer, of contents: String) throws(BusError) -> Bool {
        try BusError.check(library.bus.sd_bus_message_enter_container(message, container.code, contents)) > 0
    }

    /// Leaves the container that was entered last.
    package func leave() throws(BusError) { try BusError.check(library.bus.sd_bus_message_exit_container(message)) }

    package func skip(_ types: String) throws(BusError) {
        try BusError.check(library.bus.sd_bus_message_skip(message, types))
    }

    /// Reads a string or a path. Returns nil at the end of a container.
    private func text(_ type: CChar) throws(BusError) -> String? {
        var text: UnsafePointer<CChar>?
        guard try BusError.check(library.bus.sd_bus_message_read_basic(message, type, &text)) > 0, let text else {
            return nil
        }
        return String(cString: text)
    }

    private func required(_ text: String?) throws(BusError) -> String {
        guard let text else { throw BusError(number: ENXIO) }
        return text
    }
}
