package import FoundationEssentials
package import VaultBase

/// The answer of the token endpoint (RFC 6749 section 5.1). It does not print its tokens.
package struct TokenAnswer: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The places of the tokens in the answer, as dotted paths. The defaults are OAuth's own names.
    package struct Fields: Sendable {
        package var accessToken = "access_token"
        package var tokenType = "token_type"
        package var expiresIn = "expires_in"
        package var refreshToken = "refresh_token"
        package var scope = "scope"

        package init() {}
    }

    /// The access token; nil if there is no usable one.
    private let usableAccessToken: String?
    /// The access token; empty if there is no usable one.
    package var accessToken: String { usableAccessToken ?? "" }
    /// The token type, as the server spelled it.
    package let tokenType: String
    /// The time when the access token expires, counted from before the request; nil if the server does not say.
    package let expiresAt: Date?
    package let refreshToken: String?
    package let scope: String?
    /// The whole answer.
    package let json: JSONValue
    private let status: Int?

    /// - Parameter sentAt: the time of the request. The lifetime of the access token starts then.
    package init(_ json: JSONValue, _ fields: Fields = .init(), sentAt: Date, status: Int? = nil) {
        self.json = json
        self.status = status
        let type = Self.text(json[path: fields.tokenType])
        usableAccessToken = Self.text(json[path: fields.accessToken]).flatMap { $0.contains(" ") ? nil : $0 }
        // The RFC requires it. But an error here would lose a rotated refresh token.
        tokenType = type ?? "Bearer"
        expiresAt = Lifetime.end(in: json[path: fields.expiresIn], from: sentAt)
        refreshToken = Self.text(json[path: fields.refreshToken])
        scope = Self.text(json[path: fields.scope])
    }

    /// Whether there is any token. A new refresh token counts even if the rest of the answer is invalid.
    package var hasToken: Bool { refreshToken != nil || usableAccessToken != nil }

    /// Returns this answer, or throws if this client cannot use the access token. Call it after the refresh token is
    /// stored.
    ///
    /// A server may answer a proof with a Bearer token. Even then, the refresh token of a public client is bound to
    /// the key (RFC 9449 section 5).
    ///
    /// - Parameter key: the key that the tokens should be bound to.
    @discardableResult
    package func usable(with key: DPoPKey? = nil) throws -> Self {
        guard usableAccessToken != nil else {
            throw OpenIDConnectError(
                .invalidAnswer, "the token answer has no access token", status: status, mayHaveBeenProcessed: true)
        }
        switch (tokenType.lowercased(), key) {
        case ("bearer", _), ("dpop", _?): return self
        default:
            throw OpenIDConnectError(
                .unsupported, "access tokens of this type", status: status, mayHaveBeenProcessed: true)
        }
    }

    /// Returns a non-empty text of printable ASCII (RFC 6749 appendix A); nil for anything else.
    static func text(_ value: JSONValue?) -> String? {
        guard let text = value?.string, !text.isEmpty, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        return text
    }

    package var description: String { "TokenAnswer(\(tokenType), refreshToken: \(refreshToken != nil))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
