/// The form of a key's tries in its row: one after the other, each with 1 byte for its kind, the ticket, the time (8
/// bytes, the highest first), and in version 2 the blinded element.
package enum StoredTries {
    private static let ticketSize = 16
    private static let elementSize = 32
    /// The most bytes of one try.
    package static let size = 1 + ticketSize + 8 + elementSize

    private enum Kind: UInt8 {
        case wrong = 0
        case underWay = 1
        case oblivious = 2
    }

    /// Writes tries; nil for none.
    package static func bytes(_ tries: [StoredKey.Try]) -> [UInt8]? {
        guard !tries.isEmpty else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(tries.count * size)
        for item in tries {
            let kind: Kind = !item.blinded.isEmpty ? .oblivious : item.isUnderWay ? .underWay : .wrong
            bytes.append(kind.rawValue)
            bytes += item.ticket
            withUnsafeBytes(of: item.openedAt.bigEndian) { bytes.append(contentsOf: $0) }
            bytes += item.blinded
        }
        return bytes
    }

    /// Reads tries.
    ///
    /// - Parameter bytes: the form above; nil for none.
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the bytes are damaged.
    package static func read(_ bytes: [UInt8]?) throws -> [StoredKey.Try] {
        guard var rest = bytes?[...] else { return [] }
        var tries: [StoredKey.Try] = []
        while let first = rest.popFirst() {
            guard let kind = Kind(rawValue: first) else { throw KeyServiceServerError.damagedRecord }
            let elementSize = kind == .oblivious ? elementSize : 0
            guard rest.count >= ticketSize + 8 + elementSize else { throw KeyServiceServerError.damagedRecord }
            let ticket = Array(rest.prefix(ticketSize))
            let time = rest.dropFirst(ticketSize).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let blinded = Array(rest.dropFirst(ticketSize + 8).prefix(elementSize))
            rest = rest.dropFirst(ticketSize + 8 + elementSize)
            tries.append(
                StoredKey.Try(
                    ticket: ticket, blinded: blinded, openedAt: Int64(bitPattern: time), isUnderWay: kind == .underWay))
        }
        return tries
    }
}
