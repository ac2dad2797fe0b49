internal import VaultLocks

/// A store that forgets everything when it ends. For tests.
public final class InMemoryKeyRecordStore: KeyRecordStore {
    private struct Entry {
        var record: KeyRecord
        var count = GuessCount()
    }

    private struct Content {
        var entries: [String: Entry] = [:]
        var masterKeyCheck: [UInt8]?
    }

    private let content = Lock(Content())

    /// Makes an empty store.
    public init() {}

    /// Carries out the changes in memory, one after the other. It never throws.
    public func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome] {
        content.withLock { content in changes.map { Self.apply($0, to: &content) } }
    }

    private static func apply(_ change: KeyRecordChange, to content: inout Content) -> KeyRecordOutcome {
        switch change {
        case .insert(let record):
            content.entries[record.id] = Entry(record: record)
        case .find(let keyID, let limits):
            guard let entry = content.entries[keyID] else { return .noSuchKey }
            return limits.remaining(after: entry.count) > 0 ? .found(entry.record, entry.count) : .locked
        case .charge(let keyID, let limits, let time):
            guard let entry = content.entries[keyID] else { return .noSuchKey }
            guard limits.remaining(after: entry.count) > 0 else { return .locked }
            content.entries[keyID]?.count = GuessCount(
                inARow: entry.count.inARow + 1, inAll: entry.count.inAll + 1, lastWrongAt: time)
            return .found(entry.record, entry.count)
        case .succeed(let keyID, let wasCharged, _):
            guard let count = content.entries[keyID]?.count else { break }
            content.entries[keyID]?.count = GuessCount(inAll: max(0, count.inAll - (wasCharged ? 1 : 0)))
        case .giveBack(let keyID, let lastWrongAt, _):
            guard let count = content.entries[keyID]?.count else { break }
            content.entries[keyID]?.count = GuessCount(
                inARow: max(0, count.inARow - 1), inAll: max(0, count.inAll - 1), lastWrongAt: lastWrongAt)
        case .checkIn(let check, _):
            let kept = content.masterKeyCheck ?? check
            content.masterKeyCheck = kept
            return .checkedIn(masterKeyCheck: kept)
        }
        return .done
    }
}
