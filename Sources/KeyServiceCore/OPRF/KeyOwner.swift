internal import Crypto
internal import VaultCrypto

/// The person whom a key belongs to, at an identity provider.
package struct KeyOwner: Sendable, Hashable {
    /// The issuer identifier of the provider.
    package let issuer: String
    /// The subject at the provider.
    package let subject: String

    /// Makes an owner.
    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    /// Returns the form that the store keeps: HMAC-SHA256 of both texts. Without the key, nobody can test a guess.
    func hash(under key: borrowing SecretBytes) -> [UInt8] {
        let message = [issuer, subject].flatMap { text in
            withUnsafeBytes(of: UInt64(text.utf8.count).bigEndian) { Array($0) } + Array(text.utf8)
        }
        let key = key.withUnsafeBytes { SymmetricKey(data: $0) }
        return Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
    }
}

/// An access token, as a request presents it.
package struct PresentedToken: Sendable {
    /// The token itself.
    package let token: String
    /// The proof of the key that the token is bound to (RFC 9449); nil for a bearer token.
    package let proof: String?
    /// The path of the request below the base URL. Its method is `POST`.
    package let path: String

    /// Makes a token from the parts of a request. See the properties.
    package init(_ token: String, proof: String? = nil, path: String) {
        self.token = token
        self.proof = proof
        self.path = path
    }
}

/// The person of an access token, as the identity provider confirms it.
package struct VerifiedOwner: Sendable {
    package let person: KeyOwner
    /// The time when the person last signed in at the provider, in seconds since 1970; nil if the provider does not say.
    package let authenticatedAt: Int64?

    /// Makes an owner. See the properties.
    package init(_ person: KeyOwner, authenticatedAt: Int64? = nil) {
        self.person = person
        self.authenticatedAt = authenticatedAt
    }
}

/// Finds out whom an access token speaks for.
///
/// A conformer must not assume that the token is well formed: anybody can send one. It must refuse tokens that are made
/// for other purposes, such as ID tokens. It must refuse a token that is bound to a key, unless the request has a proof
/// of this key that was made for it and was not used before.
package protocol OwnerVerifier: Sendable {
    /// Returns the owner of a token.
    ///
    /// - Throws: ``OwnerVerificationError``.
    func owner(of presented: PresentedToken) async throws -> VerifiedOwner
}

/// The reason why an access token does not count.
package enum OwnerVerificationError: Error, Sendable {
    /// The token is not accepted.
    case invalidToken
    /// The proof of the token's key is wrong, old, or was used before.
    case invalidProof
    /// The token cannot be checked now: try again later.
    case unavailable
}
