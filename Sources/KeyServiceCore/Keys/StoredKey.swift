/// A key of either version of the protocol, as a store keeps it: the record, its state, and the open guesses.
///
/// A guess counts as wrong until it is taken back. The rules about guesses are pure functions of this
/// type, so every store has the same rules: `StoredKey+Guesses.swift` has those of version 1,
/// `StoredKey+OPRF.swift` those of version 2, `StoredKey+Operator.swift` those of the operator, and
/// `StoredKey+Owner.swift` the one of the owner.
package struct StoredKey: Sendable, Hashable {
    /// The state of a key. The number is stored.
    package enum State: Int, Sendable, Hashable {
        case live = 0
        /// The key was made, but its owner has not confirmed it yet. Only in version 2.
        case unfinished = 1
        /// The owner's client ended the key. Only in version 2.
        case ended = 2
        /// The owner or the operator revoked the key.
        case revoked = 3
        /// The key was locked for so long that the service destroyed it. Only in version 2.
        case destroyed = 4

        /// Whether the key is gone for good.
        package var isFinal: Bool { self != .live && self != .unfinished }
    }

    /// A guess that nobody has taken back yet.
    package struct Guess: Sendable, Hashable {
        /// The name of the guess, 16 bytes. In version 2 it follows from the element, except for guesses that nobody
        /// made.
        package var ticket: [UInt8]
        /// In version 2 the blinded element, 32 bytes: the same element again is the same guess. In version 1 empty.
        package var blinded: [UInt8]
        /// The time in seconds since 1970.
        package var openedAt: Int64
        /// Whether the service has not evaluated the guess yet. Only in version 1.
        package var isUnderWay: Bool

        /// Makes a guess.
        ///
        /// - Parameters:
        ///   - ticket: the name of the guess, 16 bytes.
        ///   - blinded: the blinded element, 32 bytes; empty in version 1.
        ///   - openedAt: the time in seconds since 1970.
        ///   - isUnderWay: whether the service has not evaluated the guess yet.
        package init(ticket: [UInt8], blinded: [UInt8] = [], openedAt: Int64, isUnderWay: Bool = false) {
            self.ticket = ticket
            self.blinded = blinded
            self.openedAt = openedAt
            self.isUnderWay = isUnderWay
        }
    }

    package var record: KeyRecord
    package var state: State
    /// The open guesses, the oldest first.
    package var guesses: [Guess]
    /// The wrong guesses in the whole life of a key of version 1, with those under way. In version 2, the guesses that the
    /// owner's unlocks took back.
    package var wrongInAll: Int
    /// The owner: a keyed hash, or ``nobodyYet``; nil for none. Only in version 2.
    package var owner: [UInt8]?
    /// The client's label; nil for none. Only in version 2.
    package var label: [UInt8]?
    /// The time when the key was last given out, in seconds since 1970; nil for never.
    package var lastUsedAt: Int64?
    /// The time when the owner last unlocked the key, in seconds since 1970; nil for never. Only in version 2.
    package var ownerUnlockedAt: Int64?

    /// Makes a key from its stored parts.
    package init(
        record: KeyRecord, state: State = .live, guesses: [Guess] = [], wrongInAll: Int = 0, owner: [UInt8]? = nil,
        label: [UInt8]? = nil, lastUsedAt: Int64? = nil, ownerUnlockedAt: Int64? = nil
    ) {
        self.record = record
        self.state = state
        self.guesses = guesses
        self.wrongInAll = wrongInAll
        self.owner = owner
        self.label = label
        self.lastUsedAt = lastUsedAt
        self.ownerUnlockedAt = ownerUnlockedAt
    }

    /// Whether the key has the protocol's version 2.
    package var isOPRF: Bool { record.details.kind == KeyDetails.oprfKind }

    /// The guesses that are left before the key is locked; 0 for a locked key.
    package func remaining(_ limits: GuessLimits) -> Int {
        let inARow = limits.inARow - guesses.count
        // The owner of a key of version 2 makes a new key after wrong guesses, so they have no limit in all.
        return max(0, isOPRF ? inARow : min(inARow, limits.inAll - wrongInAll))
    }

    /// Makes random bytes.
    static func random(_ count: Int) -> [UInt8] {
        // Each number is a call of the system, so a number must not give only one byte.
        (0..<(count + 7) / 8).flatMap { _ in withUnsafeBytes(of: UInt64.random(in: 0 ... .max)) { Array($0) } }
            .prefix(count).map(\.self)
    }
}

/// The numbers of wrong guesses that lock a key.
package struct GuessLimits: Sendable, Hashable {
    /// The limit since the last right guess.
    package let inARow: Int
    /// The limit in the whole life of the key. It stops a thief who guesses a little between the owner's logins.
    package let inAll: Int

    /// Makes the limits of a service.
    package init(inARow: Int = 3, inAll: Int = 100) {
        self.inARow = max(0, inARow)
        self.inAll = max(0, inAll)
    }
}

/// The form of a key's guesses in its row: one after the other, each with 1 byte for its kind, the ticket, and the time
/// (8 bytes, the highest first). In version 2 the blinded element follows. In a guess that is under way, the number of
/// the server's run follows (4 bytes).
package enum StoredGuesses {
    private static let ticketSize = 16
    private static let elementSize = 32
    /// The most bytes of one guess.
    package static let size = 1 + ticketSize + 8 + elementSize

    private enum Kind: UInt8 {
        case wrong = 0
        case underWay = 1
        case oprf = 2
    }

    /// Writes guesses; nil for none.
    ///
    /// - Parameter run: the number of this run of the only server of a store; 0 if several servers share the store.
    package static func bytes(_ guesses: [StoredKey.Guess], run: UInt32 = 0) -> [UInt8]? {
        guard !guesses.isEmpty else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(guesses.count * size)
        for item in guesses {
            let kind: Kind = !item.blinded.isEmpty ? .oprf : item.isUnderWay ? .underWay : .wrong
            bytes.append(kind.rawValue)
            bytes += item.ticket
            withUnsafeBytes(of: item.openedAt.bigEndian) { bytes.append(contentsOf: $0) }
            bytes += item.blinded
            if kind == .underWay { withUnsafeBytes(of: run.bigEndian) { bytes.append(contentsOf: $0) } }
        }
        return bytes
    }

    /// Reads guesses.
    ///
    /// - Parameters:
    ///   - bytes: the form above; nil for none.
    ///   - run: as for ``bytes(_:run:)``. A guess of an earlier run is not under way any more, because its server died.
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the bytes are damaged.
    package static func read(_ bytes: [UInt8]?, run: UInt32 = 0) throws -> [StoredKey.Guess] {
        guard var rest = bytes?[...] else { return [] }
        func take(_ count: Int) throws -> ArraySlice<UInt8> {
            guard rest.count >= count else { throw KeyServiceServerError.damagedRecord }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        var guesses: [StoredKey.Guess] = []
        while let first = rest.popFirst() {
            guard let kind = Kind(rawValue: first) else { throw KeyServiceServerError.damagedRecord }
            let ticket = try take(ticketSize)
            let time = try take(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let blinded = kind == .oprf ? try take(elementSize) : []
            let isOurs = kind == .underWay ? try take(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } == run : false
            guesses.append(
                StoredKey.Guess(
                    ticket: Array(ticket), blinded: Array(blinded), openedAt: Int64(bitPattern: time),
                    isUnderWay: isOurs))
        }
        return guesses
    }
}
