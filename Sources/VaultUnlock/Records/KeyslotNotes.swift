package import Foundation
internal import KeyServiceClient
package import VaultStorage

/// The notes about an account's keyslots that only people read: what the key service refused, wrong guesses on this
/// machine, when a sign-in unlocked a key, and the last notice about guesses that were not made here. They show it
/// without a guess.
///
/// They stop no login: the service's operator may have unlocked the key since. A thief who can write the disk can
/// change them, too. After a sign-in unlocked a key, they save the person a second one for 24 hours at most.
package struct KeyslotNotes: Sendable {
    /// The reason why the key service refused a key. New reasons may be added, so a `switch` over them needs a
    /// `default`.
    package struct Reason: Sendable, Hashable, Codable {
        private let name: String
        /// The key was locked after too many wrong guesses.
        package static let locked = Reason(name: "locked")
        /// The owner or the operator revoked the key.
        package static let revoked = Reason(name: "revoked")
        /// The key was ended from another place, or destroyed because it was locked for too long.
        package static let ended = Reason(name: "ended")

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

        private init(name: String) { self.name = name }
    }

    /// A notice about guesses that were not made with this store. A person may have missed the notice.
    package struct Told: Codable, Sendable {
        /// The kind of the unlock method, as a word.
        package let keyslot: String
        /// The number of guesses.
        package let count: Int
        /// The time of the last guess by the key service's clock; nil if the service did not tell.
        package let last: Date?
        /// Whether a guess was perhaps right.
        package let mayBeRight: Bool
        /// The time of the notice.
        package let toldAt: Date
    }

    fileprivate struct Refusal: Codable {
        let reason: Reason
        let date: Date
        /// The time of the last answer "busy", which followed a lock by a few seconds and says the same; nil for none.
        var busyAt: Date?
    }

    fileprivate struct GuessesLeft: Codable {
        let count: Int
        let date: Date
    }

    fileprivate struct Content: RecordContent {
        /// By the ids of the keyslots.
        var refusals: [String: Refusal] = [:]
        /// The wrong guesses on this machine since a keyslot last opened, by its id.
        var wrong: [String: Int] = [:]
        /// The guesses that the key service left at the last guess, by the id of the keyslot.
        var left: [String: GuessesLeft]?
        /// The times when a sign-in unlocked keys, by the ids of the keys: a new key need not wait.
        var ownerUnlocks: [String: Date]?
        var told: Told?

        var isEmpty: Bool {
            refusals.isEmpty && wrong.isEmpty && (left ?? [:]).isEmpty && (ownerUnlocks ?? [:]).isEmpty && told == nil
        }

        mutating func tidy() { wrong = wrong.mapValues { min(max(0, $0), KeyslotNotes.limit) } }
    }

    /// What the notes say about the keyslots, read at once: each look at the store waits for a program that writes there.
    package struct Reading: Sendable {
        private let content: Content

        fileprivate init(_ content: Content) { self.content = content }

        /// Returns the number of guesses that the key service left at the last guess at a keyslot; nil if it opened the
        /// account since then, or if the service told no number.
        func guessesLeft(of slot: Keyslot) -> Int? {
            content.left?[slot.id].flatMap { Self.isNew($0.date, slot) ? $0.count : nil }
        }

        /// Returns the reasons of the last refusals, by the id of the keyslot. A keyslot that opened the account since
        /// then is not among them.
        func reasons(of account: Account) -> [String: Reason] {
            var reasons: [String: Reason] = [:]
            for slot in account.keyslots {
                guard let refusal = content.refusals[slot.id], Self.isNew(refusal.date, slot) else { continue }
                reasons[slot.id] = refusal.reason
            }
            return reasons
        }

        /// Returns the time of the answer that ``reasons(of:)`` and ``guessesLeft(of:)`` tell of; nil if they tell of
        /// none.
        func answeredAt(_ slot: Keyslot) -> Date? {
            let refusal = content.refusals[slot.id]
            return [refusal?.date, refusal?.busyAt, content.left?[slot.id]?.date].compactMap(\.self)
                .filter { Self.isNew($0, slot) }.max()
        }

        /// Returns the time of the answer that the key is locked; nil if the last answer was another one. An answer
        /// "busy" does not count.
        func lockedAt(_ slot: Keyslot) -> Date? {
            content.refusals[slot.id].flatMap { $0.reason == .locked && Self.isNew($0.date, slot) ? $0.date : nil }
        }

        /// Returns the number of noted wrong guesses at a keyslot since it last opened.
        package func wrongGuesses(of slot: Keyslot) -> Int { content.wrong[slot.id, default: 0] }

        /// Returns the times from which a sign-in can unlock keys again, by the ids of the keys. A key that a sign-in can
        /// unlock now is not among them.
        func ownerUnlockTimes(now: Date) -> [String: Date] {
            (content.ownerUnlocks ?? [:]).filter { KeyslotNotes.forbidsOwnerUnlock($1, now) }
                .mapValues { $0 + KeyslotNotes.ownerUnlockInterval }
        }

        private static func isNew(_ date: Date, _ slot: Keyslot) -> Bool { date > slot.lastUsedAt ?? .distantPast }
    }

    /// The highest noted number of guesses for one keyslot.
    private static let limit = 1_000_000

    /// The time between two unlocks of one key by a sign-in, in seconds.
    private static let ownerUnlockInterval: TimeInterval = 86_400

    private let record: Record<Content>

    /// Opens the notes of one account. Nothing is read yet.
    package init(store: any SecureStore, account: AccountID) {
        record = Record("keyslot-notes", of: account, in: store)
    }

    /// Reads the notes.
    package func reading() async throws -> Reading { Reading(try await record.content()) }

    /// Notes the key service's answer for a keyslot, if the answer says whether the key can be used.
    func note(_ error: KeyServiceError, for slot: Keyslot, of account: Account, now: Date) async throws {
        let reason = Reason(error)
        guard reason != nil || error.code == .wrongSecret else { return }
        try await record.change { content in
            content.refusals = content.refusals.filter { id, _ in account.keyslots.contains { $0.id == id } }
            content.refusals[slot.id] = reason.map { Refusal(reason: $0, date: now) }
            var left = (content.left ?? [:]).filter { id, _ in account.keyslots.contains { $0.id == id } }
            left[slot.id] = reason == nil ? error.guessesRemaining.map { GuessesLeft(count: $0, date: now) } : nil
            content.left = left.isEmpty ? nil : left
            content.ownerUnlocks = Self.ownerUnlocks(in: content, of: account, now)
        }
    }

    /// Notes the time of an answer "busy" about a key that was locked a moment ago.
    func noteBusy(_ slot: Keyslot, now: Date) async throws {
        try await record.change { $0.refusals[slot.id]?.busyAt = now }
    }

    /// Forgets why the key service refused a keyslot, because its key was unlocked.
    ///
    /// - Parameter left: the number of guesses that are left, and the time now; nil if nobody guessed since then.
    func forgetRefusal(of slot: Keyslot, left: (count: Int, now: Date)? = nil) async throws {
        guard try await record.content().refusals[slot.id] != nil else { return }
        try await record.change { content in
            content.refusals[slot.id] = nil
            guard let left else { return }
            content.left = content.left ?? [:]
            content.left?[slot.id] = GuessesLeft(count: left.count, date: left.now)
        }
    }

    /// Notes that a sign-in unlocked a key now, or that the key service refused because one did so in the last 24 hours.
    /// An earlier time stays after a refusal.
    func noteOwnerUnlock(of slot: Keyslot, of account: Account, now: Date, isRefused: Bool) async throws {
        try await record.change { content in
            var unlocks = Self.ownerUnlocks(in: content, of: account, now) ?? [:]
            if !isRefused || unlocks[slot.keyID] == nil { unlocks[slot.keyID] = now }
            content.ownerUnlocks = unlocks
        }
    }

    /// Returns the unlocks that still count, of keys that the account still has.
    private static func ownerUnlocks(in content: Content, of account: Account, _ now: Date) -> [String: Date]? {
        let keys = account.oprfKeys
        return content.ownerUnlocks?.filter { keys.contains($0) && forbidsOwnerUnlock($1, now) }
    }

    /// Whether a sign-in cannot unlock a key yet. A time in the future counts as none, because the clock was set back.
    private static func forbidsOwnerUnlock(_ unlockedAt: Date, _ now: Date) -> Bool {
        (0..<ownerUnlockInterval).contains(now.timeIntervalSince(unlockedAt))
    }

    /// Notes the number of guesses that are left after a right secret, because somebody else's guesses are open. Call
    /// this after the use of the keyslot was noted.
    func noteLeft(_ count: Int, for slot: Keyslot, now: Date) async throws {
        try await record.change { content in
            content.left = (content.left ?? [:]).merging([slot.id: GuessesLeft(count: count, date: now)]) { $1 }
        }
    }

    /// Notes one wrong guess at a keyslot, so that people's own typing errors raise no alarm.
    package func noteWrong(_ slot: Keyslot) async throws {
        try await record.change { content in
            content.wrong[slot.id] = min(Self.limit, content.wrong[slot.id, default: 0] + 1)
        }
    }

    /// Forgets the wrong guesses at a keyslot. Its key service counts from zero again, or the keyslot is gone.
    package func forgetWrong(_ slot: Keyslot) async throws { try await record.change { $0.wrong[slot.id] = nil } }

    /// Notes a notice about guesses that were not made here.
    func note(_ notice: AccountNotice, toldAt now: Date) async throws {
        let told = Told(
            keyslot: notice.keyslot.rawValue, count: notice.count, last: notice.last, mayBeRight: notice.mayBeRight,
            toldAt: now)
        try await record.change { $0.told = told }
    }

    /// Returns the last notice about guesses that were not made here; nil if there was none.
    package func told() async throws -> Told? { try await record.content().told }
}
