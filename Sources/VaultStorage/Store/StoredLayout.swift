internal import VaultCrypto

/// The names of paths and fields at an account's backend, as they were stored with the account.
@nonexhaustive
public enum StoredLayout: Hashable, Sendable {
    /// The layout as JSON.
    case json([UInt8])
    /// The stored bytes were changed. Functions that need the layout must refuse to work.
    case damaged

    /// The bytes to write; nil for a damaged layout, which stays as it is.
    package var bytes: [UInt8]? {
        if case .json(let bytes) = self { bytes } else { nil }
    }

    package static func checksum(of bytes: [UInt8], _ id: AccountID) -> [UInt8] {
        Checksum.of([Array("layout".utf8), Array(id.issuer.utf8), Array(id.subject.utf8), bytes])
    }
}
