public import Foundation
public import KeyServiceClient
public import VaultStorage

/// A record of the keys that the key service refused to use. It shows them without a guess.
///
/// The record is only for people to read, and stops no login: the service's operator may have unlocked the key since. A
/// thief who can write the disk can change the record, too.
public struct KeyRefusals: Sendable {
    /// The reason why the key service refused a key. New reasons may be added, so a `switch` over them needs a
    /// `default`.
    public struct Reason: Sendable, Hashable, Codable {
        private let name: String
        /// The key was locked after too many wrong guesses.
        public static let locked = Reason(name: "locked")
        /// The owner or the operator revoked the key.
        public static let revoked = Reason(name: "revoked")
        /// The key was ended from another place, or destroyed because it was locked for too long.
        public static let ended = Reason(name: "ended")

        /// - Returns: nil if the answer says nothing about the key's state.
        init?(_ error: KeyServiceError) {
            switch error.code {
            case .keyLocked: self = .locked
            case .wrongSecret where error.guessesRemaining == 0: self = .locked
            case .keyRevoked: self = .revoked
            case .keyEnded, .keyDestroyed: self = .ended
            default: return nil
            }
        }

        private init(name: String) {
            self.name = name
        }
    }

    private struct Refusal: Codable {
        let reason: Reason
        let date: Date
    }

    private let store: any SecureStore
    private let name: String

    /// Opens the notes of one account. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the notes.
    ///   - account: the account.
    public init(store: any SecureStore, account: AccountID) {
        self.store = store
        name = account.recordPrefix + "key-refusals"
    }

    /// Notes the key service's answer for a keyslot, if the answer says whether the key can be used.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func note(_ error: KeyServiceError, for slot: Keyslot, of account: Account, now: Date) async throws {
        let reason = Reason(error)
        guard reason != nil || error.code == .wrongSecret else { return }
        try await store.withRecord(name) { bytes in
            var refusals = Self.decode(bytes).filter { id, _ in account.keyslots.contains { $0.id == id } }
            guard reason != nil || refusals[slot.id] != nil else { return }
            refusals[slot.id] = reason.map { Refusal(reason: $0, date: now) }
            bytes = refusals.isEmpty ? nil : Array(try JSONEncoder().encode(refusals))
        }
    }

    /// Returns the reasons of the last tries, by the id of the keyslot. A keyslot that opened the account since then is
    /// not among them.
    ///
    /// - Throws: ``StoreError`` with code `busy` or `unreadable` (try again) or `corrupt` (restore a backup).
    public func reasons(of account: Account) async throws -> [String: Reason] {
        let refusals = try await store.withRecord(name) { Self.decode($0) }
        var reasons: [String: Reason] = [:]
        for slot in account.keyslots {
            guard let refusal = refusals[slot.id], refusal.date > slot.lastUsedAt ?? .distantPast else { continue }
            reasons[slot.id] = refusal.reason
        }
        return reasons
    }

    /// A damaged record counts as an empty one.
    private static func decode(_ bytes: [UInt8]?) -> [String: Refusal] {
        bytes.flatMap { try? JSONDecoder().decode([String: Refusal].self, from: Data($0)) } ?? [:]
    }
}
