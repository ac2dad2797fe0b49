public import FoundationEssentials

/// The reason why no redirect came from the browser.
public struct RedirectListenerError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// Another program listens on the port: end that program, or use another redirect URI.
        public static let portInUse = Code(name: "portInUse")
        /// The port cannot be opened for another reason: see `underlying`.
        public static let cannotListen = Code(name: "cannotListen")
        /// No redirect came in time: start over.
        public static let timedOut = Code(name: "timedOut")
        /// The listener was stopped, or its one redirect is already taken.
        public static let stopped = Code(name: "stopped")
    }

    /// The kind of error.
    public let code: Code
    /// The address: `127.0.0.1` or `::1`.
    public let host: String
    /// The port; 0 if none was chosen yet.
    public let port: Int
    /// The system's error, if there was one.
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
        case .stopped: "The program stopped waiting for the browser."
        default: "Cannot listen on \(place)."
        }
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
