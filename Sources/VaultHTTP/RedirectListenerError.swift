public import FoundationEssentials

/// Why waiting for the browser's redirect did not work.
public struct RedirectListenerError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        let name: String
        /// Another program listens on the port: end it, or take another redirect URI.
        public static let portInUse = Code(name: "portInUse")
        /// The port cannot be listened on for another reason; `underlying` says which.
        public static let cannotListen = Code(name: "cannotListen")
        /// No redirect came in time: start over.
        public static let timedOut = Code(name: "timedOut")
        /// The listener was stopped, or its one redirect is already taken.
        public static let stopped = Code(name: "stopped")
    }

    /// What happened.
    public let code: Code
    /// The address that is meant: `127.0.0.1`, or `::1`.
    public let host: String
    /// The port that is meant; 0 when none was chosen yet.
    public let port: Int
    /// The system's error, where there was one.
    public let underlying: (any Error)?

    /// Makes an error for a ``RedirectListening`` of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - host: the address: `127.0.0.1` or `::1`.
    ///   - port: the port; 0 when none was chosen yet.
    ///   - underlying: the error of the system.
    public init(_ code: Code, host: String = "127.0.0.1", port: Int, underlying: (any Error)? = nil) {
        self.code = code
        self.host = host
        self.port = port
        self.underlying = underlying
    }

    private var place: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// One sentence for a person.
    public var description: String {
        switch code {
        case .portInUse: "Another program is listening on \(place)."
        case .timedOut: "No answer came from the browser in time."
        case .stopped: "The wait for the browser was ended."
        default: "Cannot listen on \(place)."
        }
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
