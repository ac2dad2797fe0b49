internal import Foundation
public import VaultStorage

/// A record of the wrong guesses on this machine, so that people's own typing errors raise no alarm.
///
/// The record is only for people to read, and stops no login. A damaged record counts as an empty one.
public struct NotedGuesses: Sendable {
    /// The highest noted number of guesses for one keyslot.
    static let limit = 1_000_000

    private let store: any SecureStore
    private let name: String

    /// Opens the notes of one account. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the notes.
    ///   - account: the account.
    public init(store: any SecureStore, account: AccountID) {
        self.store = store
        name = account.recordPrefix + "noted-guesses"
    }

    /// Notes one wrong guess at a keyslot.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func note(_ slot: Keyslot) async throws {
        try await store.withRecord(name) { bytes in
            var counts = Self.decode(bytes)
            counts[slot.id] = min(Self.limit, counts[slot.id, default: 0] + 1)
            bytes = Array(try JSONEncoder().encode(counts))
        }
    }

    /// Returns the number of noted wrong guesses at a keyslot since it last opened.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func count(of slot: Keyslot) async throws -> Int {
        try await store.withRecord(name) { Self.decode($0)[slot.id, default: 0] }
    }

    /// Forgets the note of a keyslot. Its key service counts from zero again, or the keyslot is gone.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func forget(_ slot: Keyslot) async throws {
        try await store.withRecord(name) { bytes in
            var counts = Self.decode(bytes)
            guard counts.removeValue(forKey: slot.id) != nil else { return }
            bytes = counts.isEmpty ? nil : Array(try JSONEncoder().encode(counts))
        }
    }

    /// A damaged record counts as an empty one, and impossible numbers are corrected.
    private static func decode(_ bytes: [UInt8]?) -> [String: Int] {
        let counts = bytes.flatMap { try? JSONDecoder().decode([String: Int].self, from: Data($0)) } ?? [:]
        return counts.mapValues { min(max(0, $0), limit) }
    }
}
