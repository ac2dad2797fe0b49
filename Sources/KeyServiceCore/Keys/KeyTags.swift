internal import Crypto
internal import VaultBase
internal import VaultCrypto

/// The tags of keys: a log shows a key's tag, not its id.
///
/// Many people read logs, and anybody with the id of a key can lock it with wrong guesses. A tag is HMAC-SHA256 of the
/// id, under a key from the master key. It is the same in each log until the master key changes. No request accepts it.
package struct KeyTags: Sendable {
    private static let size = 8

    /// The start of all codes: the key is already in it.
    private let start: HMAC<SHA256>

    package init(_ masterKey: MasterKey) throws {
        let derived = try KeyDerivation.hkdf(masterKey.bytes, info: "credential-vault/key-service/v1/log-tag")
        start = derived.withUnsafeBytes { HMAC(key: SymmetricKey(data: $0)) }
    }

    /// Makes the tags of a store's keys.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the store belongs to other master keys.
    package init(_ masterKeys: MasterKeys, for state: StoreState) throws {
        _ = try masterKeys.match(state.masterKeys)
        try self.init(masterKeys.current)
    }

    /// Returns the tag: 16 hexadecimal digits.
    package func tag(of keyID: String) -> String {
        var code = start
        code.update(data: Array(keyID.utf8))
        return code.finalize().withUnsafeBytes { Hexadecimal.text($0.prefix(Self.size)) }
    }
}
