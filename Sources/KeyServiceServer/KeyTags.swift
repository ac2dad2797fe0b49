internal import Crypto
internal import VaultCrypto

/// Tags: a log names a key by its tag, and not by its id.
///
/// Somebody who knows the id of a key can lock it with wrong guesses, and many people read logs. A tag is HMAC-SHA256 of the
/// id under a key that comes from the master key: the same in each log, and nothing that a request can name.
public struct KeyTags: Sendable {
    private static let size = 8

    private let key: SymmetricKey

    /// The tags of the services that have this master key.
    public init(_ masterKey: MasterKey) throws {
        let derived = try KeyDerivation.hkdf(masterKey.bytes, info: "credential-vault/key-service/v1/log-tag")
        key = derived.withUnsafeBytes { SymmetricKey(data: $0) }
    }

    /// 16 hexadecimal digits.
    public func tag(of keyID: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array(keyID.utf8), using: key)
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: code.prefix(Self.size).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
