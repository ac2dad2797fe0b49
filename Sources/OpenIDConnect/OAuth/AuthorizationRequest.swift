internal import Crypto
public import FoundationEssentials
internal import VaultBase

/// One sign-in that was started in the browser (RFC 6749 section 4.1.1, with PKCE: RFC 7636, S256).
///
/// Keep the request in memory until the redirect comes. Its state, nonce and code verifier are secrets, and are not
/// printed.
public struct AuthorizationRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address to open in the browser.
    public private(set) var url: String
    /// The time by which the browser must open ``url``; nil for no limit. Only pushed requests (RFC 9126) have a limit.
    public private(set) var expiresAt: Date?
    /// The address that the server sends the browser back to.
    public let redirectURI: String
    /// The requested scopes.
    public let scopes: [String]
    package let state: String
    package let verifier: String
    /// The key that the tokens will be bound to.
    package let dpopKey: DPoPKey?
    /// The server as it was when the sign-in started. The sign-in ends at the same one.
    let server: any AuthorizationServer
    /// The parameters of the request. They are the same in the address and in a pushed request.
    let parameters: ProviderConnection.Form
    private let isAnswered = Flag()

    private final class Flag: Sendable {
        let value = Lock(false)
    }

    package init(
        server: any AuthorizationServer, clientID: String, redirectURI: String, scopes: [String],
        additional: ProviderConnection.Form = [], dpopKey: DPoPKey? = nil, state: String = RandomText.make(),
        verifier: String = RandomText.make()
    ) {
        self.server = server
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.state = state
        self.verifier = verifier
        self.dpopKey = dpopKey
        var parameters: ProviderConnection.Form = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI), ("state", state),
            ("code_challenge", Self.challenge(for: verifier)), ("code_challenge_method", "S256"),
        ]
        if !scopes.isEmpty { parameters.append(("scope", scopes.joined(separator: " "))) }
        parameters += additional
        // Binds the code to the key, so that nobody else can redeem it (RFC 9449 section 10).
        if let dpopKey { parameters.append(("dpop_jkt", dpopKey.thumbprint)) }
        self.parameters = parameters
        url = EndpointURL.adding(parameters, to: server.authorizationEndpoint)
    }

    /// Returns the same request after it was pushed. Its address only points to it (RFC 9126 section 4).
    func pushed(as requestURI: String, clientID: String, expiresAt: Date?) -> AuthorizationRequest {
        var request = self
        request.url = EndpointURL.adding(
            [("client_id", clientID), ("request_uri", requestURI)], to: server.authorizationEndpoint)
        request.expiresAt = expiresAt
        return request
    }

    /// Marks the code as used. Returns false if it was used before. A server treats a code that comes twice as stolen,
    /// and revokes the tokens that it gave for it.
    func answer() -> Bool {
        isAnswered.value.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
    }

    /// The S256 code challenge (RFC 7636 section 4.2).
    package static func challenge(for verifier: String) -> String {
        Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)))
    }

    public var description: String { "AuthorizationRequest(redirectURI: \(redirectURI))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["redirectURI": redirectURI, "scopes": scopes]) }
}
