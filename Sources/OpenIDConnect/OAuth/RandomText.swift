internal import Crypto
internal import FoundationEssentials

/// Values nobody can guess.
package enum RandomText {
    /// 32 random bytes as 43 base64url characters.
    package static func make() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { Base64URL.encode($0) }
    }

    /// Compares in a time that does not depend on where the texts differ.
    package static func areEqual(_ one: String, _ other: String) -> Bool {
        // swift-crypto compares digests in constant time.
        SHA256.hash(data: Data(one.utf8)) == SHA256.hash(data: Data(other.utf8))
    }
}
