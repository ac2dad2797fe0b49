internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// Random values that nobody can guess.
package enum RandomText {
    /// Returns 32 random bytes as 43 base64url characters.
    package static func make() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { Base64URL.encode($0) }
    }

    /// Compares two texts in constant time.
    package static func areEqual(_ one: String, _ other: String) -> Bool {
        // swift-crypto compares digests in constant time.
        SHA256.hash(data: Data(one.utf8)) == SHA256.hash(data: Data(other.utf8))
    }
}
