internal import VaultLocks

/// A store that forgets everything when it ends. For tests.
public final class InMemoryKeyRecordStore: KeyRecordStore {
    private struct Entry {
        var record: KeyRecord
        var wrongGuesses = 0
    }

    private struct Content {
        var entries: [String: Entry] = [:]
        var masterKeyCheck: [UInt8]?
    }

    private let content = Lock(Content())

    /// An empty store.
    public init() {}

    public func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome] {
        content.withLock { content in changes.map { Self.apply($0, to: &content) } }
    }

    private static func apply(_ change: KeyRecordChange, to content: inout Content) -> KeyRecordOutcome {
        switch change {
        case .insert(let record):
            content.entries[record.id] = Entry(record: record)
        case .charge(let keyID, let limit):
            guard var entry = content.entries[keyID] else { return .noSuchKey }
            guard entry.wrongGuesses < limit else { return .locked }
            entry.wrongGuesses += 1
            content.entries[keyID] = entry
            return .charged(entry.record, wrongGuesses: entry.wrongGuesses)
        case .succeed(let keyID, _):
            content.entries[keyID]?.wrongGuesses = 0
        case .giveBack(let keyID):
            guard let count = content.entries[keyID]?.wrongGuesses, count > 0 else { break }
            content.entries[keyID]?.wrongGuesses = count - 1
        case .checkIn(let check, _):
            let kept = content.masterKeyCheck ?? check
            content.masterKeyCheck = kept
            return .checkedIn(masterKeyCheck: kept)
        }
        return .done
    }
}
