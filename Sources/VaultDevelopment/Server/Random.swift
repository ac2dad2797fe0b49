internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// Returns random bytes of the operating system.
func randomBytes(_ count: Int) -> [UInt8] {
    SymmetricKey(size: .init(bitCount: count * 8)).withUnsafeBytes { Array($0) }
}

/// Returns an unguessable name for a running login, a code or a nonce: 256 bits.
func randomIdentifier() -> String { Base64URL.encode(randomBytes(32)) }

/// Returns the SHA-256 of `text`, to recognise a secret without storing it.
func digest(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }
