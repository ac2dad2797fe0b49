public import Foundation

/// One way into an account, for a list that people choose from.
public struct WayIn: Sendable, Hashable {
    /// Whether it can be tried. New ones may be added, so a `switch` over them needs a `default`.
    public struct State: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The way in can be tried.
        public static let usable = State(description: "usable")
        /// Its key was locked at the key service when it was tried last on this machine.
        public static let locked = State(description: "locked")
        /// What is stored of it is damaged: it opens nothing.
        public static let damaged = State(description: "damaged")
    }

    /// The id of its keyslot.
    public let id: String
    /// The kind of secret or hardware that opens it.
    public let kind: Keyslot.Kind
    /// What to call it in front of a person: its label, or what its kind is called.
    public let name: String
    /// What the person calls it; nil for nothing.
    public let label: String?
    /// Whether it can be tried.
    public let state: State
    /// When it was added; nil for a damaged one.
    public let createdAt: Date?
    /// When it opened the account on this machine last; nil when it never did.
    public let lastUsedAt: Date?
    /// How many wrong guesses were made on this machine since it opened the account last. The key service may have
    /// counted more.
    public let wrongGuesses: Int
    /// Whether it opens the account without the key service.
    public let opensOffline: Bool

    init(_ slot: Keyslot, isLocked: Bool, wrongGuesses: Int) {
        id = slot.id
        kind = slot.kind
        label = slot.label
        name = slot.label ?? slot.kind.traits.listName ?? slot.kind.displayName
        state = isLocked ? .locked : .usable
        createdAt = slot.createdAt
        lastUsedAt = slot.lastUsedAt
        self.wrongGuesses = wrongGuesses
        opensOffline = !slot.needsKeyService
    }

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
    }
}

extension Accounts {
    /// The ways into an account, the usable ones first.
    package func waysIn(of account: Account) async throws -> [WayIn] {
        let locked = await lockedKeyslots(of: account)
        let noted = NotedGuesses(store: store, account: account.id)
        var ways: [WayIn] = []
        for slot in account.keyslots {
            // Only for a person to look at: a note that cannot be read counts as none.
            let wrong = (try? await noted.count(of: slot)) ?? 0
            ways.append(WayIn(slot, isLocked: locked.contains(slot.id), wrongGuesses: wrong))
        }
        return ways.filter { $0.state == .usable } + ways.filter { $0.state == .locked }
            + account.damagedKeyslots.map { WayIn($0) }
    }
}
