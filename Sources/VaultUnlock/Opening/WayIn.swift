public import Foundation
public import VaultStorage

/// One way into an account, for a list that people choose from.
public struct WayIn: Sendable, Hashable {
    /// The state of a way in. New states may be added, so a `switch` over them needs a `default`.
    public struct State: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The way in can be tried.
        public static let usable = State(description: "usable")
        /// The key was locked at the key service at the last guess on this machine.
        public static let locked = State(description: "locked")
        /// The key was revoked, or ended from another place. It opens nothing any more.
        public static let ended = State(description: "ended")
        /// The stored way in is damaged and opens nothing.
        public static let damaged = State(description: "damaged")
    }

    /// The id of the way in's keyslot.
    public let id: String
    /// The kind of secret or hardware that opens it.
    public let kind: Keyslot.Kind
    /// The name of the way in for people: its label, or the name of its kind.
    public let name: String
    /// The label that the person gave it; nil for none.
    public let label: String?
    /// Whether it can be tried.
    public let state: State
    /// The time when it was added; nil for a damaged one.
    public let createdAt: Date?
    /// The time when it last opened the account on this machine; nil if it never did.
    public let lastUsedAt: Date?
    /// The wrong guesses on this machine since it last opened the account. The key service may have counted more.
    public let wrongGuesses: Int
    /// Whether it opens the account without the key service.
    public let opensOffline: Bool
    /// The version of the key service's protocol that it speaks; nil if it needs no key service, or is damaged.
    public let keyServiceProtocol: Int?

    init(_ slot: Keyslot, refused reason: KeyslotNotes.Reason?, wrongGuesses: Int) {
        id = slot.id
        kind = slot.kind
        label = slot.label
        name = slot.label ?? slot.kind.traits.listName ?? slot.kind.displayName
        state = reason.map { $0 == .locked ? .locked : .ended } ?? .usable
        createdAt = slot.createdAt
        lastUsedAt = slot.lastUsedAt
        self.wrongGuesses = wrongGuesses
        opensOffline = !slot.needsKeyService
        keyServiceProtocol = slot.keyServiceProtocol
    }

    /// A way in that was just removed.
    package init(ended slot: Keyslot) { self.init(slot, refused: .revoked, wrongGuesses: 0) }

    init(_ slot: DamagedKeyslot) {
        id = slot.id
        kind = slot.kind
        label = nil
        name = slot.kind.traits.listName ?? slot.kind.displayName
        state = .damaged
        createdAt = nil
        lastUsedAt = nil
        wrongGuesses = 0
        opensOffline = false
        keyServiceProtocol = nil
    }
}

extension Accounts {
    /// Returns the ways into an account, the usable ones first.
    package func waysIn(of account: Account) async throws -> [WayIn] {
        let refused = await refusedKeyslots(of: account)
        let notes = KeyslotNotes(store: store, account: account.id)
        var ways: [WayIn] = []
        for slot in account.keyslots {
            // The number is only for people to read, so a note that cannot be read counts as zero.
            let wrong = (try? await notes.wrongGuesses(of: slot)) ?? 0
            ways.append(WayIn(slot, refused: refused[slot.id], wrongGuesses: wrong))
        }
        return ways.filter { $0.state == .usable } + ways.filter { $0.state != .usable }
            + account.damagedKeyslots.map { WayIn($0) }
    }
}
