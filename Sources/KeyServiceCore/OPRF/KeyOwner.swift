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

/// Finds out whom an access token speaks for.
///
/// A conformer must not assume that the token is well formed: anybody can send one. It must refuse tokens that are made
/// for other purposes, such as ID tokens.
package protocol OwnerVerifier: Sendable {
    /// Returns the owner of a token.
    ///
    /// - Throws: ``OwnerVerificationError``.
    func owner(ofAccessToken token: String) async throws -> KeyOwner
}

/// The reason why an access token does not count.
package enum OwnerVerificationError: Error, Sendable {
    /// The token is not accepted.
    case invalidToken
    /// The token cannot be checked now: try again later.
    case unavailable
}
