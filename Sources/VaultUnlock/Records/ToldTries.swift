package import Foundation
package import VaultStorage

/// The record of the last notice about tries that were not made with this store. The state of the account shows it,
/// because a person may have missed the notice.
package struct ToldTries: Codable, Sendable {
    /// The kind of the way in, as a word.
    package let keyslot: String
    /// The number of tries.
    package let count: Int
    /// The time of the last try by the key service's clock; nil if the service did not tell.
    package let last: Date?
    /// Whether a try was perhaps right.
    package let mayBeRight: Bool
    /// The time of the notice.
    package let toldAt: Date

    init(_ notice: AccountNotice, toldAt: Date) {
        (keyslot, count, last) = (notice.keyslot.rawValue, notice.count, notice.last)
        (mayBeRight, self.toldAt) = (notice.mayBeRight, toldAt)
    }

    /// Stores it for the account.
    func note(in store: any SecureStore, _ account: AccountID) async throws {
        let json = Array(try JSONEncoder().encode(self))
        try await store.withRecord(Self.name(account)) { $0 = json }
    }

    /// Returns the account's last notice; nil if there was none. A damaged record counts as none.
    package static func last(in store: any SecureStore, _ account: AccountID) async throws -> ToldTries? {
        try await store.withRecord(name(account)) { bytes in
            bytes.flatMap { try? JSONDecoder().decode(ToldTries.self, from: Data($0)) }
        }
    }

    private static func name(_ account: AccountID) -> String { account.recordPrefix + "told-tries" }
}
