public import Foundation
package import VaultBase

/// The claims of an ID token, or of an access token in the form of a JWT (RFC 9068). **It verifies nothing**: anybody
/// can write such a token. Use it to look at a token, never to decide on access.
///
/// The claims of an ID token that the vault verified are `SignInResult.Identity.claimsJSON`: from a sign-in, or from
/// `Session.identity()`. An access token is for the API alone, which verifies it; its provider may change its form.
public struct JWT: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// All claims, a JSON object in UTF-8.
    public let claimsJSON: [UInt8]
    private let claims: JSONValue

    /// - Parameter token: the token in compact form (RFC 7515 section 7.1).
    /// - Returns: nil for an opaque or encrypted token.
    public init?(_ token: String) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), JSONValue(objectIn: header) != nil,
            let payload = Base64URL.decode(parts[1]), let claims = JSONValue(objectIn: payload)
        else { return nil }
        claimsJSON = payload
        self.claims = claims
    }

    /// Reads the claims of a token without a look at its header. Returns nil if there are none.
    package static func claims(in token: String?) -> JSONValue? {
        let parts = token?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        return parts.count == 3 ? Base64URL.decode(parts[1]).flatMap(JSONValue.init(objectIn:)) : nil
    }

    /// The subject: the person that the token is about (`sub`).
    public var subject: String? { claims["sub"]?.string }
    /// The issuer, which wrote the token (`iss`).
    public var issuer: String? { claims["iss"]?.string }
    /// The audience: the services that the token is for (`aud`).
    public var audience: [String] { claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.strings ?? [] }
    /// The time when the token was issued (`iat`).
    public var issuedAt: Date? { date("iat") }
    /// The time when the token expires (`exp`).
    public var expiresAt: Date? { date("exp") }

    /// Returns one claim.
    ///
    /// - Returns: nil if the claim is missing or has another type.
    public func claim<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
        claims[name].flatMap { try? JSONDecoder().decode(type, from: Data($0.encoded())) }
    }

    private func date(_ name: String) -> Date? { Lifetime.time(claims[name]).map(Date.init(timeIntervalSince1970:)) }

    public var description: String { "JWT" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
