public import Foundation
public import KeyService

/// A record of the keys that the key service called locked. It shows them without a guess.
///
/// The record is only for people to read, and stops no login: the service's operator may have unlocked the key since. A
/// thief who can write the disk can change the record, too.
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

    /// Notes the key service's answer for a keyslot, if the answer says whether the key is locked.
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

    /// Returns the ids of the account's keyslots that were locked at the last try. A keyslot that opened the account
    /// since then is not among them.
    ///
    /// - Throws: ``StoreError`` with code `busy` or `unreadable` (try again) or `corrupt` (restore a backup).
    public func locked(of account: Account) async throws -> Set<String> {
        let locks = try await store.withRecord(name) { Self.decode($0) }
        return Set(
            account.keyslots.filter { slot in
                locks[slot.id].map { $0 > slot.lastUsedAt ?? .distantPast } ?? false
            }.map(\.id))
    }

    /// A damaged record counts as an empty one.
    private static func decode(_ bytes: [UInt8]?) -> [String: Date] {
        bytes.flatMap { try? JSONDecoder().decode([String: Date].self, from: Data($0)) } ?? [:]
    }
}
