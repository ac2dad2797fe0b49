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

    private let library: LibSystemd
    private let message: OpaquePointer

    /// Takes over the caller's reference.
    init(_ library: LibSystemd, _ message: OpaquePointer) {
        self.library = library
        self.message = message
    }

    deinit { _ = library.messageUnref(message) }

    func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .string(let text):
            try BusError.check(library.messageAppendBasic(message, Self.string, text))
        case .number(var number):
            try BusError.check(library.messageAppendBasic(message, Self.number, &number))
        }
    }

    /// The path of the object that sent a signal.
    var path: String? { library.messageGetPath(message).map { String(cString: $0) } }

    /// Whether it is this signal from exactly this connection. Anybody may send a signal directly to us.
    func isSignal(_ member: String, of interface: String, from sender: String) -> Bool {
        guard library.messageIsSignal(message, interface, member) > 0,
            let actual = library.messageGetSender(message)
        else { return false }
        return String(cString: actual) == sender
    }

    /// Reads a string, or with the type `path` the path of an object.
    func readString(type: CChar = string) throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        guard try BusError.check(library.messageReadBasic(message, type, &text)) > 0, let text else {
            throw BusError(number: ENXIO)
        }
        return String(cString: text)
    }

    func readFlag() throws(BusError) -> Bool {
        var value: Int32 = 0
        guard try BusError.check(library.messageReadBasic(message, Self.flag, &value)) > 0 else {
            throw BusError(number: ENXIO)
        }
        return value != 0
    }

    /// Reads a file descriptor. The caller closes it.
    func readDescriptor() throws(BusError) -> Int32 {
        var descriptor: Int32 = -1
        guard try BusError.check(library.messageReadBasic(message, Self.descriptor, &descriptor)) > 0 else {
            throw BusError(number: ENXIO)
        }
        // The message closes its own descriptor.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw BusError(number: errno) }
        return copy
    }

    /// Reads a list of sessions (`a(susso)`), and returns the paths of those of a user.
    func readSessions(of user: UInt32) throws(BusError) -> Set<String> {
        var paths: Set<String> = []
        try BusError.check(library.messageEnterContainer(message, CChar(UInt8(ascii: "a")), "(susso)"))
        while try BusError.check(library.messageEnterContainer(message, CChar(UInt8(ascii: "r")), "susso")) > 0 {
            try BusError.check(library.messageSkip(message, "s"))
            var owner: UInt32 = 0
            try BusError.check(library.messageReadBasic(message, Self.number, &owner))
            try BusError.check(library.messageSkip(message, "ss"))
            let path = try readString(type: Self.path)
            if owner == user { paths.insert(path) }
            try BusError.check(library.messageExitContainer(message))
        }
        try BusError.check(library.messageExitContainer(message))
        return paths
    }

    /// Reads a boolean property from a dictionary of changed ones (`a{sv}`).
    func readFlag(ofProperty wanted: String) throws(BusError) -> Bool? {
        var result: Bool?
        try BusError.check(library.messageEnterContainer(message, CChar(UInt8(ascii: "a")), "{sv}"))
        while try BusError.check(
            library.messageEnterContainer(message, CChar(UInt8(ascii: "e")), "sv")) > 0
        {
            if try readString() == wanted {
                try BusError.check(library.messageEnterContainer(message, CChar(UInt8(ascii: "v")), "b"))
                result = try readFlag()
                try BusError.check(library.messageExitContainer(message))
            } else {
                try BusError.check(library.messageSkip(message, "v"))
            }
            try BusError.check(library.messageExitContainer(message))
        }
        try BusError.check(library.messageExitContainer(message))
        return result
    }
}
