internal import VaultCrypto

// The form of a key's values in its row. All stores share it.

extension KeyDetails {
    private static let saltSize = 16
    private static let publicKeySize = 32
    /// The kind of ``oprf(endKey:confirmKey:)``. Only its keys have the protocol's version 2.
    package static let oprfKind = 3

    /// The number that stands for the kind in a store.
    package var kind: Int {
        switch self {
        case .strong: 1
        case .stretched: 2
        case .oprf: Self.oprfKind
        }
    }

    /// The values of this kind, in the form for a store.
    package var bytes: [UInt8] {
        switch self {
        case .strong(let salt): salt
        case .stretched(let salt, let cost):
            salt
                + [cost.passes, cost.memoryKiB, cost.lanes].flatMap { number in
                    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
                }
        case .oprf(let endKey, let confirmKey): endKey + (confirmKey ?? [])
        }
    }

    /// Reads the form for a store.
    ///
    /// - Parameters:
    ///   - kind: the stored number.
    ///   - bytes: the stored values.
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if they are damaged, or of a newer version.
    package init(kind: Int, bytes: [UInt8]) throws {
        let salt = Array(bytes.prefix(Self.saltSize))
        switch (kind, bytes.count) {
        case (1, Self.saltSize): self = .strong(salt: salt)
        case (2, Self.saltSize + 12):
            let numbers = (0..<3).map { index in
                bytes[(Self.saltSize + 4 * index)...].prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            self = .stretched(
                salt: salt, Argon2Parameters(passes: numbers[0], memoryKiB: numbers[1], lanes: numbers[2]))
        case (Self.oprfKind, Self.publicKeySize): self = .oprf(endKey: bytes, confirmKey: nil)
        case (Self.oprfKind, 2 * Self.publicKeySize):
            self = .oprf(
                endKey: Array(bytes.prefix(Self.publicKeySize)), confirmKey: Array(bytes.suffix(Self.publicKeySize)))
        default: throw KeyServiceServerError.damagedRecord
        }
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
