/// A key of the protocol's version 2, as a store keeps it: the record, its state, and the tries that nobody has
/// confirmed yet.
///
/// The functions below are all the rules about guesses of version 2. They are pure: a store reads a key, calls one of
/// them, and writes the result in the same transaction. So every store has the same rules.
public struct ObliviousKey: Sendable, Hashable {
    /// The state of a key. The number is stored.
    public enum State: Int, Sendable, Hashable {
        /// The key can be used.
        case live = 0
        /// The key was made, but its owner has not confirmed it yet.
        case unfinished = 1
        /// The owner's client ended the key.
        case ended = 2
        /// The owner or the operator revoked the key.
        case revoked = 3
        /// The key was locked for so long that the service destroyed it.
        case destroyed = 4

        /// Whether the key is gone for good.
        public var isFinal: Bool { self != .live && self != .unfinished }
    }

    /// An evaluation that nobody has confirmed yet.
    public struct Try: Sendable, Hashable {
        /// The name of the try, 16 bytes. It follows from the element, except for tries that nobody made.
        public var ticket: [UInt8]
        /// The blinded element, 32 bytes. The same element again is the same try.
        public var blinded: [UInt8]
        /// The time in seconds since 1970.
        public var openedAt: Int64

        /// Makes a try.
        ///
        /// - Parameters:
        ///   - ticket: the name of the try, 16 bytes.
        ///   - blinded: the blinded element, 32 bytes.
        ///   - openedAt: the time in seconds since 1970.
        public init(ticket: [UInt8], blinded: [UInt8], openedAt: Int64) {
            self.ticket = ticket
            self.blinded = blinded
            self.openedAt = openedAt
        }
    }

    /// The reason why a call changes nothing.
    enum Refusal: Error, Hashable {
        /// Another key has the id.
        case exists
        /// The key has another confirm key.
        case conflict
        /// The key was not confirmed yet.
        case unfinished
        /// No try is left, but a recent one may be right: ask again soon.
        case busy
        /// No try is left.
        case locked
        /// The key is gone for good.
        case gone(State)
    }

    /// The time in which a full key counts as busy after its last try, in seconds: its owner may be about to confirm it.
    static let busyTime: Int64 = 10
    /// The time in which a new key must be confirmed, in seconds.
    public static let unfinishedLifetime: Int64 = 24 * 3600
    /// The time in which a new key must be claimed, in seconds, if its ``owner`` is ``nobodyYet``.
    public static let unclaimedLifetime: Int64 = 24 * 3600
    /// The owner of a key that ends unless somebody claims it in time. No person has this owner: a hash is longer.
    public static let nobodyYet: [UInt8] = [0]

    /// The record. Its details are ``KeyDetails/oblivious(endKey:confirmKey:)``.
    public var record: KeyRecord
    /// The state.
    public var state: State
    /// The open tries, the oldest first; tries of the same time in the order of their tickets.
    public var tries: [Try]
    /// The owner: a keyed hash, or ``nobodyYet``; nil for none.
    public var owner: [UInt8]?
    /// The client's label; nil for none.
    public var label: [UInt8]?
    /// The time of the last confirm, in seconds since 1970; nil for never.
    public var lastUsedAt: Int64?

    /// Makes a key from its stored parts.
    public init(
        record: KeyRecord, state: State, tries: [Try], owner: [UInt8]? = nil, label: [UInt8]? = nil,
        lastUsedAt: Int64? = nil
    ) {
        self.record = record
        self.state = state
        self.tries = tries
        self.owner = owner
        self.label = label
        self.lastUsedAt = lastUsedAt
    }

    /// The public key that can end the key.
    var endKey: [UInt8] { if case .oblivious(let endKey, _) = record.details { endKey } else { [] } }

    /// The public key that confirms tries; nil for an unfinished key.
    var confirmKey: [UInt8]? { if case .oblivious(_, let confirmKey) = record.details { confirmKey } else { nil } }

    // MARK: - The rules

    /// Opens a try.
    ///
    /// - Parameters:
    ///   - blinded: the blinded element.
    ///   - ticket: the ticket of the try if it is a new one.
    ///   - limit: the most open tries.
    ///   - now: the time in seconds since 1970.
    ///   - destroyAfter: the time after the last try, in seconds, in which a locked key can still be unlocked.
    /// - Returns: the try. Evaluate its element only after the key is stored.
    mutating func evaluate(
        _ blinded: [UInt8], ticket: [UInt8], limit: Int, now: Int64, destroyAfter: Int64
    ) throws(Refusal) -> Try {
        try requireUsable()
        guard state == .live else { throw .unfinished }
        if let known = tries.first(where: { $0.blinded == blinded }) { return known }
        guard tries.count < limit else {
            let youngest = tries.map(\.openedAt).max() ?? now
            // A clock that was set back must not keep a key busy for long.
            if (now - Self.busyTime + 1...now).contains(youngest) { throw .busy }
            if youngest < now - destroyAfter { destroy() }
            try requireUsable()
            throw .locked
        }
        let new = Try(ticket: ticket, blinded: blinded, openedAt: now)
        add(new)
        return new
    }

    /// Takes tries back. The signatures were checked before.
    ///
    /// - Parameters:
    ///   - tickets: the tries. Unknown ones are ignored.
    ///   - confirmKey: the key of the checked signature.
    ///   - now: the time in seconds since 1970.
    mutating func confirm(_ tickets: [[UInt8]], confirmKey: [UInt8], now: Int64) throws(Refusal) {
        try requireUsable()
        if let known = self.confirmKey, known != confirmKey { throw .conflict }
        record.details = .oblivious(endKey: endKey, confirmKey: confirmKey)
        state = .live
        let before = tries.count
        tries.removeAll { tickets.contains($0.ticket) }
        if tries.count < before { lastUsedAt = now }
    }

    /// Sets the owner.
    mutating func claim(for new: [UInt8]) throws(Refusal) {
        try requireUsable()
        guard state == .live else { throw .unfinished }
        guard owner == nil || owner == Self.nobodyYet || owner == new else { throw .conflict }
        owner = new
    }

    /// Ends the key for good. Erases its tries and the key of the function. The rest stays, so that the service can
    /// tell clients why.
    mutating func end(_ state: State) {
        guard !self.state.isFinal else { return }
        self.state = state
        tries = []
        record.content = ObliviousContent.withoutKey(record.content)
    }

    /// Gives the key all its tries back.
    mutating func unlock() { tries = [] }

    private mutating func destroy() { end(.destroyed) }

    private func requireUsable() throws(Refusal) {
        if state.isFinal { throw .gone(state) }
    }

    mutating func add(_ new: Try) {
        tries.append(new)
        tries.sort { ($0.openedAt, $0.ticket) < ($1.openedAt, $1.ticket) }
    }
}

extension ObliviousKey.Try {
    /// Makes a try whose ticket nobody has.
    package static func unknown(at time: Int64) -> Self {
        Self(ticket: random(16), blinded: random(32), openedAt: time)
    }

    private static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }
}

/// Compares a time and a ticket.
private func < (one: (Int64, [UInt8]), other: (Int64, [UInt8])) -> Bool {
    one.0 != other.0 ? one.0 < other.0 : one.1.lexicographicallyPrecedes(other.1)
}
