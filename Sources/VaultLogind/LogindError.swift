public import FoundationEssentials
internal import Glibc
internal import VaultDBus

/// The reason why logind cannot be reached.
public struct LogindError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// The machine has no libsystemd, the client of logind. Install it, or use another monitor.
        public static let libraryMissing = Code(name: "libraryMissing")
        /// There is no message bus: the machine runs without D-Bus, or the address is wrong. Use another monitor.
        public static let busUnavailable = Code(name: "busUnavailable")
        /// There is a bus but no logind: the machine runs without systemd. Use another monitor.
        public static let logindUnavailable = Code(name: "logindUnavailable")
        /// There is no such session, or the user has none, like a system service. Only sleep is noticed.
        public static let noSuchSession = Code(name: "noSuchSession")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    public let description: String

    init(_ code: Code, _ cause: BusError? = nil) {
        self.code = code
        let reason = cause.map { " (\($0.name ?? "error \($0.number)"))" } ?? ""
        description =
            switch code {
            case .libraryMissing: "The library \(LibSystemd.fileName) is missing."
            case .busUnavailable where cause?.number == ETIMEDOUT: "The message bus does not answer."
            case .busUnavailable: "The message bus cannot be reached\(reason)."
            case .logindUnavailable: "systemd-logind does not answer on the message bus\(reason)."
            default: "systemd-logind knows no such session\(reason)."
            }
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
