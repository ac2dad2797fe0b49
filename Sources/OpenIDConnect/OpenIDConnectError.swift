public import FoundationEssentials
internal import VaultHTTP

/// An error from the identity provider, or from the way to it. It never carries tokens, authorization codes or whole
/// answers.
public struct OpenIDConnectError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error, which tells the next step. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// No network, the provider is down (5xx) or busy (429): try later. See ``OpenIDConnectError/mayHaveBeenProcessed``.
        public static let unavailable = Code(name: "unavailable")
        /// The provider took the request and did not answer in time: try later.
        public static let timedOut = Code(name: "timedOut")
        /// The connection broke before the whole answer arrived: try again. The provider may have carried out the
        /// request.
        public static let interrupted = Code(name: "interrupted")
        /// The refresh token or authorization code is expired, revoked or used up: sign in again.
        public static let invalidGrant = Code(name: "invalidGrant")
        /// The code for the sign-in on another device has expired, mostly because nobody entered it in time: start
        /// again.
        public static let deviceCodeExpired = Code(name: "deviceCodeExpired")
        /// The user name or the password is wrong: ask for them again.
        public static let wrongCredentials = Code(name: "wrongCredentials")
        /// The person said no in the browser.
        public static let denied = Code(name: "denied")
        /// The provider has to ask the person, which `prompt=none` forbids: sign in again without it.
        public static let interactionRequired = Code(name: "interactionRequired")
        /// The provider refuses this client or request: see `providerError` and `status`. Check the client's settings.
        public static let refused = Code(name: "refused")
        /// The answer breaks the protocol: check the issuer, which may be another one or not an OpenID provider.
        public static let invalidAnswer = Code(name: "invalidAnswer")
        /// The ID token must not be trusted: start over. If the error stays, check the clock of the machine, then the
        /// provider.
        public static let tokenInvalid = Code(name: "tokenInvalid")
        /// The user information must not be trusted: continue without it.
        public static let userInfoInvalid = Code(name: "userInfoInvalid")
        /// The redirect belongs to another sign-in, or somebody forged it: start over.
        public static let stateMismatch = Code(name: "stateMismatch")
        /// The redirect cannot be understood or trusted: start over.
        public static let callbackInvalid = Code(name: "callbackInvalid")
        /// The provider does not support the request.
        public static let unsupported = Code(name: "unsupported")
        /// The issuer, client or redirect URI for this library is wrong: correct it.
        public static let configurationInvalid = Code(name: "configurationInvalid")
        /// The task was cancelled.
        public static let cancelled = Code(name: "cancelled")
    }

    /// The kind of error.
    public let code: Code
    /// The reason, in a few words for a person. It is a fixed text of this library, without the provider's words.
    public let reason: String
    /// The HTTP status, where there was an answer.
    public let status: Int?
    /// The provider's `error` member (RFC 6749 sections 4.1.2.1 and 5.2): at most 64 printable ASCII characters.
    public let providerError: String?
    /// The provider's `error_description`: at most 200 characters, without control characters.
    public let providerDescription: String?
    /// Whether the provider may have acted on the request, so that a refresh token or code may be used up.
    public private(set) var mayHaveBeenProcessed: Bool
    /// Whether the server itself said that the refresh token, code or access token has ended. True only for the code
    /// `invalidGrant`: if ``providerError`` is `invalid_grant` (RFC 6749 section 5.2), or if the server said it in a known
    /// form of its own. If false, a proxy in front of the server may have refused, and a later request may work.
    public private(set) var isFinal: Bool
    /// Whether the server sent its refusal itself: see ``ProviderConnection/isOfServer(_:)``.
    package private(set) var isOfServer = false
    /// The underlying error, if the cause was not the provider's answer.
    public let underlying: (any Error)?

    /// Makes an error, for an app's own `TokenIssuer`.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - reason: the reason, in a few words for a person, without secrets.
    ///   - status: the HTTP status, where there was an answer.
    ///   - providerError: the server's `error` member.
    ///   - providerDescription: the server's `error_description`.
    ///   - mayHaveBeenProcessed: whether the server may have acted on the request.
    ///   - underlying: the underlying error, if the cause was not an answer.
    public init(
        _ code: Code, _ reason: String, status: Int? = nil, providerError: String? = nil,
        providerDescription: String? = nil, mayHaveBeenProcessed: Bool = false, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason
        self.status = status
        self.providerError = providerError.flatMap(Self.sanitised(error:))
        self.providerDescription = providerDescription?.harmlessText
        self.mayHaveBeenProcessed = mayHaveBeenProcessed
        self.underlying = underlying
        isFinal = code == .invalidGrant && providerError == "invalid_grant"
    }

    /// Returns the same error with another ``mayHaveBeenProcessed``.
    package func processed(_ mayHaveBeenProcessed: Bool) -> Self {
        var error = self
        error.mayHaveBeenProcessed = mayHaveBeenProcessed
        return error
    }

    /// Returns the same error with ``isFinal``, if its code allows that.
    package func final() -> Self {
        var error = self
        error.isFinal = code == .invalidGrant
        return error
    }

    /// Returns the same error with another ``isOfServer``.
    package func ofServer(_ isOfServer: Bool) -> Self {
        var error = self
        error.isOfServer = isOfServer
        return error
    }

    /// One sentence for a person.
    public var description: String {
        let start =
            switch code {
            case .unavailable where status == 429: "The server refused the request after too many attempts"
            case .unavailable: "The identity provider cannot be reached"
            case .timedOut: "The identity provider did not answer in time"
            case .interrupted: "The identity provider's answer did not arrive"
            case .invalidGrant: "The identity provider no longer accepts this sign-in"
            case .deviceCodeExpired: "The code for the sign-in on another device has expired"
            case .wrongCredentials: "The user name or the password is wrong"
            case .denied: "The sign-in was denied"
            case .interactionRequired: "The identity provider has to ask the person first"
            case .refused: "The identity provider refused the request"
            case .invalidAnswer: "The identity provider's answer is not valid"
            case .tokenInvalid: "The ID token is not valid"
            case .userInfoInvalid: "The user information is not valid"
            case .stateMismatch, .callbackInvalid: "The redirect from the browser is not valid"
            case .unsupported: "The identity provider does not support this"
            case .configurationInvalid: "The OpenID Connect configuration is not valid"
            default: "The call to the identity provider was cancelled"
            }
        var text = reason.isEmpty ? start : "\(start): \(reason)"
        if let providerError { text += " [\(providerError)]" }
        if let providerDescription { text += " \"\(providerDescription)\"" }
        return text + "."
    }

    private static func sanitised(error: String) -> String? {
        let allowed = error.unicodeScalars.filter { (0x20...0x7E).contains($0.value) }
        return allowed.isEmpty ? nil : String(String.UnicodeScalarView(allowed.prefix(64)))
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
