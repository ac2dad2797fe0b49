public import Foundation
public import KeyService

/// Remembers which keys the key service called locked, so that this can be told without spending a guess.
///
/// It is for a person to look at, and keeps nobody from trying: the service's operator may have unlocked the key since, and
/// whoever writes the disk writes this, too.
public struct KeyLocks: Sendable {
    private let store: any SecureStore
    private let name: String

    /// Opens the notes of one account. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the notes.
    ///   - account: the account.
    public init(store: any SecureStore, account: AccountID) {
        self.store = store
        name = account.recordPrefix + "key-locks"
    }

    /// Notes what the key service answered when a keyslot was to be opened, if that tells anything.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func note(_ error: KeyServiceError, for slot: Keyslot, now: Date) async throws {
        let isLocked: Bool
        switch error.code {
        case .keyLocked: isLocked = true
        case .wrongSecret: isLocked = error.guessesRemaining == 0
        default: return
        }
        try await store.withRecord(name) { bytes in
            var locks = Self.decode(bytes)
            guard isLocked || locks[slot.id] != nil else { return }
            locks[slot.id] = isLocked ? now : nil
            bytes = locks.isEmpty ? nil : Array(try JSONEncoder().encode(locks))
        }
    }

    /// Which of an account's keyslots were locked when they were tried last. One that has opened it since is not.
    ///
    /// - Returns: their ids.
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func locked(of account: Account) async throws -> Set<String> {
        let locks = try await store.withRecord(name) { Self.decode($0) }
        return Set(
            account.keyslots.filter { slot in
                locks[slot.id].map { $0 > slot.lastUsedAt ?? .distantPast } ?? false
            }.map(\.id))
    }

    /// What is not a record counts as none.
    private static func decode(_ bytes: [UInt8]?) -> [String: Date] {
        bytes.flatMap { try? JSONDecoder().decode([String: Date].self, from: Data($0)) } ?? [:]
    }
}
