internal import Crypto
internal import FoundationEssentials

/// One sign-in that was started in the browser (OpenID Connect Core section 3.1.2.1, PKCE with S256).
///
/// Keep it in memory until the redirect comes. Its state, nonce and code verifier are secrets, and it does not print them.
public struct AuthorizationRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address to open in the browser.
    public let url: String
    /// Where the browser is sent back to.
    public let redirectURI: String
    /// The scopes asked for.
    public let scopes: [String]
    package let state: String
    package let nonce: String
    package let verifier: String

    init(
        metadata: ProviderMetadata, clientID: String, redirectURI: String, scopes: [String], prompt: String?,
        state: String = RandomText.make(), nonce: String = RandomText.make(), verifier: String = RandomText.make()
    ) {
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.state = state
        self.nonce = nonce
        self.verifier = verifier
        var parameters: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI),
            ("scope", scopes.joined(separator: " ")), ("state", state), ("nonce", nonce),
            ("code_challenge", Self.challenge(for: verifier)), ("code_challenge_method", "S256"),
        ]
        if let prompt { parameters.append(("prompt", prompt)) }
        // The endpoint may have a query of its own, which must be kept (RFC 6749 section 3.1).
        let endpoint = metadata.authorizationEndpoint
        let separator = !endpoint.contains("?") ? "?" : endpoint.hasSuffix("?") || endpoint.hasSuffix("&") ? "" : "&"
        url = endpoint + separator + FormParameters.encode(parameters)
    }

    /// The S256 code challenge (RFC 7636 section 4.2).
    static func challenge(for verifier: String) -> String {
        Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)))
    }

    public var description: String { "AuthorizationRequest(redirectURI: \(redirectURI))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["redirectURI": redirectURI, "scopes": scopes]) }
}

/// Values nobody can guess.
enum RandomText {
    /// 32 random bytes as 43 base64url characters.
    static func make() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { Base64URL.encode($0) }
    }

    /// Compares in a time that does not depend on where the texts differ.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        // swift-crypto compares digests in constant time.
        SHA256.hash(data: Data(one.utf8)) == SHA256.hash(data: Data(other.utf8))
    }
}
