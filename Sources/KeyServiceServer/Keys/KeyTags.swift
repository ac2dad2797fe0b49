internal import Crypto
internal import VaultCrypto

/// The tags of keys: a log shows a key's tag, not its id.
///
/// Many people read logs, and anybody with the id of a key can lock it with wrong guesses. A tag is HMAC-SHA256 of the
/// id, under a key from the master key. It is the same in each log until the master key changes. No request accepts it.
public struct KeyTags: Sendable {
    private static let size = 8

    private let key: SymmetricKey

    /// Makes the tags of the services with this master key.
    public init(_ masterKey: MasterKey) throws {
        let derived = try KeyDerivation.hkdf(masterKey.bytes, info: "credential-vault/key-service/v1/log-tag")
        key = derived.withUnsafeBytes { SymmetricKey(data: $0) }
    }

    /// Makes the tags of a store's keys.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the store belongs to other master keys.
    public init(_ masterKeys: MasterKeys, for state: StoreState) throws {
        _ = try masterKeys.match(state.masterKeys)
        try self.init(masterKeys.current)
    }

    /// Returns the tag: 16 hexadecimal digits.
    public func tag(of keyID: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array(keyID.utf8), using: key)
        return Hexadecimal.text(code.prefix(Self.size))
    }
}
