public import FoundationEssentials
public import HTTPTypes

/// A transport for one HTTP exchange with its body, within limits. All HTTP of the package goes through it.
///
/// A conformer must not retry, as the first request may have spent a refresh token or a guess. It must not follow
/// redirects, and must not log bodies or the `Authorization` header. It must enforce `limits`. Any number of tasks may
/// call it at once. It throws ``HTTPError``. A conformer that needs more than HTTP, such as a token, may also throw its
/// own errors.
public protocol HTTPTransport: Sendable {
    /// Sends `request` and returns the whole answer with any status.
    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer
}

/// The limits of an exchange: its time, the size of the answer, and whether it must be encrypted.
public struct HTTPLimits: Sendable {
    /// The time limit for the connection. 10 seconds.
    public var connect: Duration = .seconds(10)
    /// The time limit for the whole exchange. 30 seconds.
    public var exchange: Duration = .seconds(30)
    /// The largest accepted body, in bytes. 1 MiB.
    public var bodyBytes = 1 << 20
    /// Whether the exchange may use plain `http:` to a server on the local network. Anybody in that network can then
    /// read and change both messages. False: plain `http:` works only on this machine.
    public var allowsInsecureHTTP = false

    /// Makes the usual limits: 10 seconds, 30 seconds, 1 MiB, and no plain `http:` to other machines.
    public init() {}
}

/// A complete answer. Its description leaves the body out, as it may hold tokens.
public struct HTTPAnswer: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The status of the answer.
    public var status: HTTPResponse.Status
    /// The header fields of the answer.
    public var headerFields: HTTPFields
    /// The body of the answer. It may hold tokens: do not log it.
    public var body: [UInt8]

    /// Makes an answer for an ``HTTPTransport`` of your own.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - headerFields: the header fields.
    ///   - body: the whole body, decoded from any transfer coding.
    public init(status: HTTPResponse.Status, headerFields: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
    }

    public var description: String { "HTTPAnswer(\(status.code), \(body.count) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["status": status.code]) }
}

/// The reason why an exchange failed. It names the host, never a path, query or body.
public struct HTTPError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// There was no connection: the server did not receive the request.
        public static let notConnected = Code(name: "notConnected")
        /// The server's certificate is not trusted: the server did not receive the request.
        public static let untrustedCertificate = Code(name: "untrustedCertificate")
        /// No answer came in time: the server may have carried out the request.
        public static let timedOut = Code(name: "timedOut")
        /// The connection broke: the server may have carried out the request.
        public static let interrupted = Code(name: "interrupted")
        /// The answer is not HTTP: the server may have carried out the request.
        public static let invalidAnswer = Code(name: "invalidAnswer")
        /// The answer is larger than allowed.
        public static let answerTooLarge = Code(name: "answerTooLarge")
        /// The answer is not the JSON that the app asked for: see ``JSONClient``.
        public static let unexpectedAnswer = Code(name: "unexpectedAnswer")
        /// The path or URL is not below an API's base URL: see ``JSONClient``.
        public static let outsideBaseURL = Code(name: "outsideBaseURL")
        /// The URL is not allowed: plain `http:` to another machine, or no host.
        public static let forbiddenURL = Code(name: "forbiddenURL")
        /// The file of certificates cannot be used, and nothing was sent. See `underlying` for the next step.
        public static let certificateFileInvalid = Code(name: "certificateFileInvalid")
        /// The task was cancelled.
        public static let cancelled = Code(name: "cancelled")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// The host and port of the server.
    public let authority: String
    /// The error that caused this one, for a log. With `certificateFileInvalid` it tells a person what to do.
    public let underlying: (any Error)?

    /// Makes an error for an ``HTTPTransport`` of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - authority: the host and port that were called. No path, query or user name.
    ///   - underlying: the error that caused this one.
    public init(_ code: Code, authority: String, underlying: (any Error)? = nil) {
        self.code = code
        self.authority = authority
        self.underlying = underlying
    }

    public var description: String {
        switch code {
        case .notConnected: "No connection to \(authority)."
        case .untrustedCertificate:
            "The certificate of \(authority) is not trusted. For a private authority, set ca-file."
        case .timedOut: "\(authority) did not answer in time."
        case .interrupted: "The connection to \(authority) broke."
        case .invalidAnswer: "The connection to \(authority) broke: it did not answer in HTTP."
        case .answerTooLarge: "The answer of \(authority) is larger than allowed."
        case .unexpectedAnswer: "\(authority) sent an answer that this program does not expect."
        case .outsideBaseURL: "The program called an address outside the API at \(authority)."
        case .forbiddenURL: "\(authority) needs https. Plain http works only on this machine."
        case .certificateFileInvalid: underlying.map { "\($0)" } ?? "The file of certificates cannot be used."
        default: "The call to \(authority) was cancelled."
        }
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
