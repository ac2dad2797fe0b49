package import FoundationEssentials
internal import VaultBase

/// A proof of possession, as a server gets it (RFC 9449 section 4.3). The key in its header has signed it.
package struct DPoPProof: Sendable {
    /// The longest proof, in bytes.
    private static let maxSize = 8 * 1024
    /// The longest `jti`, in bytes. A server has to remember it.
    private static let maxIDSize = 256

    /// The thumbprint of the key (RFC 7638), as in the member `jkt` of an access token.
    package let thumbprint: String
    /// The identifier of the proof (`jti`).
    package let id: String
    private let claims: JSONValue

    /// Takes a proof apart, and checks its signature.
    ///
    /// - Parameter text: the header field `DPoP`.
    /// - Throws: ``OpenIDConnectError`` with code `tokenInvalid`.
    package init(_ text: String) throws {
        guard text.utf8.count <= Self.maxSize else { throw Self.invalid("it is too long") }
        // A type is required here (section 4.2).
        let token = try SignedToken(text, types: ["dpop+jwt"])
        guard token.type == "dpop+jwt" else { throw Self.invalid("its type is not dpop+jwt") }
        guard let jwk = Self.header(of: text)?["jwk"], let thumbprint = Self.thumbprint(of: jwk),
            let key = SignatureKey(jwk),
            key.verifies(token.signature, over: token.signingInput, algorithm: token.algorithm)
        else { throw Self.invalid("the key in its header does not verify it") }
        guard let claims = JSONValue(strictObjectIn: token.payload), let id = claims["jti"]?.string,
            (1...Self.maxIDSize).contains(id.utf8.count)
        else { throw Self.invalid("its claims are not valid") }
        self.thumbprint = thumbprint
        self.id = id
        self.claims = claims
    }

    /// Checks that the proof was made for one request, a short time ago. The caller checks that ``id`` is new.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - url: the URL of the request, as clients write it, without a query.
    ///   - accessToken: the access token of the request.
    ///   - now: the present time.
    ///   - tolerance: the most seconds between the proof's time and `now`.
    /// - Throws: ``OpenIDConnectError`` with code `tokenInvalid`.
    package func check(
        method: String, url: String, accessToken: String, at now: Date, within tolerance: TimeInterval
    ) throws {
        guard claims["htm"]?.string == method else { throw Self.invalid("it is for another method") }
        guard let target = claims["htu"]?.string, Self.areEqual(target, url) else {
            throw Self.invalid("it is for another URL")
        }
        guard claims["ath"]?.string == DPoPKey.hash(of: accessToken) else {
            throw Self.invalid("it is for another access token")
        }
        guard let issued = Lifetime.time(claims["iat"]), abs(now.timeIntervalSince1970 - issued) <= tolerance else {
            throw Self.invalid("its time is not the present time")
        }
    }

    /// Whether two URLs name the same target. Upper and lower case make no difference in a host, nor does the usual
    /// port (section 4.3).
    private static func areEqual(_ proven: String, _ actual: String) -> Bool {
        guard !proven.contains("?"), EndpointURL.isAllowed(proven) else { return false }
        return EndpointURL.origin(of: proven) == EndpointURL.origin(of: actual)
            && EndpointURL.split(proven).path == EndpointURL.split(actual).path
    }

    private static func header(of text: String) -> JSONValue? {
        Base64URL.decode(text.prefix { $0 != "." }).flatMap(JSONValue.init(strictObjectIn:))
    }

    /// Returns the thumbprint of a public key; nil for a private one, and for an unknown type.
    private static func thumbprint(of jwk: JSONValue) -> String? {
        let names: [String]
        switch jwk["kty"]?.string {
        case "EC": names = ["crv", "kty", "x", "y"]
        case "OKP": names = ["crv", "kty", "x"]
        case "RSA": names = ["e", "kty", "n"]
        default: return nil
        }
        guard jwk.member("d") == nil else { return nil }
        var members: [String: JSONValue] = [:]
        for name in names {
            guard let value = jwk[name]?.string else { return nil }
            members[name] = .string(value)
        }
        return DPoPKey.thumbprint(of: .object(members))
    }

    private static func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.tokenInvalid, reason) }
}
