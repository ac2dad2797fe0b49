internal import VaultCrypto

/// What the paths and fields of an account's backend are called, as it was stored with the account.
public enum StoredLayout: Hashable, Sendable {
    /// The layout as JSON.
    case json([UInt8])
    /// The stored bytes are not those that were written. Everything that needs the layout has to refuse.
    case damaged

    /// The bytes to write; nil for a damaged one, which stays as it is.
    package var bytes: [UInt8]? {
        if case .json(let bytes) = self { bytes } else { nil }
    }

    package static func checksum(of bytes: [UInt8], _ id: AccountID) -> [UInt8] {
        Checksum.of([Array("layout".utf8), Array(id.issuer.utf8), Array(id.subject.utf8), bytes])
    }
}
