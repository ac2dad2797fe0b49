internal import Foundation

/// Notes how many wrong guesses were made here, so that nobody is alarmed by slips of their own.
///
/// It is for a person to look at, and keeps nobody out: a damaged note counts as none.
public struct NotedGuesses: Sendable {
    /// The most that is noted of one keyslot.
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

    /// How many wrong guesses at a keyslot were noted since it opened last.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func count(of slot: Keyslot) async throws -> Int {
        try await store.withRecord(name) { Self.decode($0)[slot.id, default: 0] }
    }

    /// Forgets the note of a keyslot: its key service counts from zero again, or the keyslot is gone.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func forget(_ slot: Keyslot) async throws {
        try await store.withRecord(name) { bytes in
            var counts = Self.decode(bytes)
            guard counts.removeValue(forKey: slot.id) != nil else { return }
            bytes = counts.isEmpty ? nil : Array(try JSONEncoder().encode(counts))
        }
    }

    /// What is no note counts as none, and a number that cannot be is brought into bounds.
    private static func decode(_ bytes: [UInt8]?) -> [String: Int] {
        let counts = bytes.flatMap { try? JSONDecoder().decode([String: Int].self, from: Data($0)) } ?? [:]
        return counts.mapValues { min(max(0, $0), limit) }
    }
}
