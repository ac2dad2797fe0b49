package import FoundationEssentials
package import VaultJSON

/// What a JSON Web Token says (RFC 7519), its signature not looked at.
///
/// It may be believed as far as the server is that sent it over this very connection, and decides nothing that the server
/// itself would not.
package struct UnverifiedClaims: Sendable {
    package let json: JSONValue

    /// nil when the token is an opaque one.
    package init?(_ token: String?) {
        let parts = token?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]), let json = JSONValue(objectIn: payload) else {
            return nil
        }
        self.json = json
    }

    package var expiresAt: Date? { Lifetime.time(json["exp"]).map(Date.init(timeIntervalSince1970:)) }
}
