public import Foundation
public import VaultStorage

/// One unlock method, for a list that people choose from.
public struct KeyslotSummary: Sendable, Hashable {
    /// The state of an unlock method. New states may be added, so a `switch` over them needs a `default`.
    public struct State: Sendable, Hashable, CustomStringConvertible {
        /// The state as a word, stable across versions.
        public let name: String
        /// The state for a person, in English.
        public var description: String { name }

        /// The unlock method can be tried.
        public static let usable = State(name: "usable")
        /// The key was locked at the key service at the last guess on this machine.
        public static let locked = State(name: "locked")
        /// The owner or the operator revoked the key. It opens nothing any more.
        public static let revoked = State(name: "revoked")
        /// The key was ended from another place, or destroyed because it was locked for too long. It opens nothing any
        /// more.
        public static let ended = State(name: "ended")
        /// The policy forbids it.
        public static let forbidden = State(name: "forbidden")
        /// The keyslot is damaged and opens nothing.
        public static let damaged = State(name: "damaged")
    }

    /// The id of the unlock method's keyslot.
    public let id: String
    /// The kind of secret or hardware that opens it.
    public let kind: Keyslot.Kind
    /// The name of the unlock method for people: its label, or the name of its kind.
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
    /// The guesses that were left after the last wrong guess on this machine, as the key service told. Nil if the
    /// unlock method has opened the account since then, or if the service told no number. If the number is 1, say so
    /// before you ask for the secret.
    public let guessesRemaining: Int?
    /// The time of the key service's answer that ``state`` and ``guessesRemaining`` come from, by this machine's clock.
    /// Nil if neither comes from an answer. Show the time: the service's operator may have unlocked the key since then.
    public let answeredAt: Date?
    /// Whether it opens the account without the key service.
    public let opensOffline: Bool
    /// The version of the key service's protocol that it speaks; nil if it needs no key service, or is damaged.
    public let keyServiceProtocol: Int?
    /// The id of its key at the key service, by which the service's operator finds the key. Nil if it needs no key
    /// service, or is damaged.
    public let keyID: String?

    /// Makes a summary for an app's own tests. The parameters are the properties.
    public init(
        id: String, kind: Keyslot.Kind, name: String, label: String? = nil, state: State = .usable,
        createdAt: Date? = nil, lastUsedAt: Date? = nil, wrongGuesses: Int = 0, guessesRemaining: Int? = nil,
        answeredAt: Date? = nil, opensOffline: Bool = false, keyServiceProtocol: Int? = 2, keyID: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.label = label
        self.state = state
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.wrongGuesses = wrongGuesses
        self.guessesRemaining = guessesRemaining
        self.answeredAt = answeredAt
        self.opensOffline = opensOffline
        self.keyServiceProtocol = keyServiceProtocol
        self.keyID = keyID
    }

    init(
        _ slot: Keyslot, _ state: State, wrongGuesses: Int, guessesRemaining: Int? = nil, answeredAt: Date? = nil
    ) {
        self.init(
            id: slot.id, kind: slot.kind, name: slot.label ?? slot.kind.listName, label: slot.label,
            state: state, createdAt: slot.createdAt,
            lastUsedAt: slot.lastUsedAt, wrongGuesses: wrongGuesses, guessesRemaining: guessesRemaining,
            answeredAt: answeredAt, opensOffline: !slot.needsKeyService, keyServiceProtocol: slot.keyServiceProtocol,
            keyID: slot.needsKeyService ? slot.keyID : nil)
    }

    /// An unlock method that was just removed.
    package init(ended slot: Keyslot) { self.init(slot, .ended, wrongGuesses: 0) }

    init(_ slot: DamagedKeyslot) {
        self.init(
            id: slot.id, kind: slot.kind, name: slot.kind.listName, state: .damaged, keyServiceProtocol: nil)
    }
}

extension KeyslotSummary.State {
    fileprivate init(_ reason: KeyslotNotes.Reason) {
        switch reason {
        case .locked: self = .locked
        case .revoked: self = .revoked
        default: self = .ended
        }
    }
}

extension Keyslot.Kind {
    /// The name in a list of unlock methods, which tells the two kinds of passwords apart.
    package var listName: String { traits.listName ?? displayName }
}

extension Accounts {
    /// Returns the unlock methods, the usable ones first.
    package func keyslotSummaries(of account: Account) async throws -> [KeyslotSummary] {
        // They are only for people to read, so notes that cannot be read count as none.
        let notes = try? await KeyslotNotes(store: store, account: account.id).reading()
        let refused = notes?.reasons(of: account) ?? [:]
        var summaries: [KeyslotSummary] = []
        for slot in account.keyslots {
            let state: KeyslotSummary.State =
                policy.allows(slot) ? refused[slot.id].map(KeyslotSummary.State.init) ?? .usable : .forbidden
            summaries.append(
                KeyslotSummary(
                    slot, state, wrongGuesses: notes?.wrongGuesses(of: slot) ?? 0,
                    guessesRemaining: notes?.guessesLeft(of: slot), answeredAt: notes?.answeredAt(slot)))
        }
        return summaries.filter { $0.state == .usable } + summaries.filter { $0.state != .usable }
            + account.damagedKeyslots.map { KeyslotSummary($0) }
    }
}
