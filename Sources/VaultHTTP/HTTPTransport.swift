public import FoundationEssentials
public import HTTPTypes

/// One HTTP exchange, body included, within limits. The seam for everything that talks HTTP.
///
/// A conformer must not retry (a refresh token or a guess may be spent by the first try), must not follow redirects,
/// must not log bodies or the `Authorization` header, must enforce `limits`, and must be safe to call from any number
/// of tasks at once. It throws ``HTTPError``; one that
/// needs more than HTTP (a token, say) may throw its own errors besides.
public protocol HTTPTransport: Sendable {
    /// Sends `request` and returns the whole answer, whatever its status.
    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer
}

/// How long an exchange may take, and how large its answer may be.
public struct HTTPLimits: Sendable {
    /// How long a connection may take to come up. 10 seconds.
    public var connect: Duration = .seconds(10)
    /// How long the whole exchange may take. 30 seconds.
    public var exchange: Duration = .seconds(30)
    /// The largest body that is read, in bytes. 1 MiB.
    public var bodyBytes = 1 << 20

    /// Makes the usual limits: 10 seconds, 30 seconds, 1 MiB.
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

/// Why an exchange failed. It names the host, never a path, query or body.
public struct HTTPError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        package let name: String
        /// No connection came up: the request was certainly not received.
        public static let notConnected = Code(name: "notConnected")
        /// The server's certificate is not trusted: the request was certainly not received.
        public static let untrustedCertificate = Code(name: "untrustedCertificate")
        /// No answer came in time: the request may or may not have been carried out.
        public static let timedOut = Code(name: "timedOut")
        /// The connection broke: the request may or may not have been carried out.
        public static let interrupted = Code(name: "interrupted")
        /// What came is no answer in HTTP: the request may or may not have been carried out.
        public static let invalidAnswer = Code(name: "invalidAnswer")
        /// The answer is larger than allowed.
        public static let answerTooLarge = Code(name: "answerTooLarge")
        /// The answer is not the JSON that the app asked for: see ``JSONClient``.
        public static let unexpectedAnswer = Code(name: "unexpectedAnswer")
        /// The path or URL is not below an API's base URL: see ``JSONClient``.
        public static let outsideBaseURL = Code(name: "outsideBaseURL")
        /// The URL is not one that may be called: plain `http:` to another machine, or no host.
        public static let forbiddenURL = Code(name: "forbiddenURL")
        /// The file of certificates cannot be used: nothing was sent. `underlying` tells a person what to do.
        public static let certificateFileInvalid = Code(name: "certificateFileInvalid")
        /// The task was cancelled.
        public static let cancelled = Code(name: "cancelled")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// The host and port that were called.
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
            "The certificate of \(authority) is not trusted. If a private authority signed it, name its file: ca-file."
        case .timedOut: "\(authority) did not answer in time."
        case .interrupted: "The connection to \(authority) broke."
        case .invalidAnswer: "The connection to \(authority) broke: it did not answer in HTTP."
        case .answerTooLarge: "The answer of \(authority) is larger than allowed."
        case .unexpectedAnswer: "\(authority) answered something else than this program expects."
        case .outsideBaseURL: "The program called an address that does not belong to the API at \(authority)."
        case .forbiddenURL: "\(authority) may not be called: it needs https (plain http only works on this machine)."
        case .certificateFileInvalid: underlying.map { "\($0)" } ?? "The file of certificates cannot be used."
        default: "The call to \(authority) was cancelled."
        }
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
