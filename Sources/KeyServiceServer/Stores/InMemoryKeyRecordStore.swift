internal import VaultLocks

/// A store that forgets everything when it ends. For tests.
public final class InMemoryKeyRecordStore: KeyRecordOperations {
    struct Entry {
        var row: Int64
        var key: StoredKey
        var ticket: GuessTicket?
        var heldUntil: Int64 = 0

        /// Whether another charge has to wait at `time`. A clock that was set back must not hold a key for long.
        func isHeld(at time: Int64) -> Bool {
            ticket != nil && (1...GuessTicket.lifetime).contains(heldUntil - time)
        }
    }

    struct Content {
        var entries: [String: Entry] = [:]
        var lastRow: Int64 = 0
        var state: StoreState
        var identity: StoredIdentity?

        /// Whether no guess is left.
        func isLocked(_ key: StoredKey) -> Bool {
            key.lock != nil || state.limits.remaining(after: key.count) == 0
        }
    }

    let content: Lock<Content>

    /// Makes an empty store.
    ///
    /// - Parameter limits: the limits of wrong guesses.
    public init(limits: GuessLimits = GuessLimits()) {
        let storeID = (0..<16).map { _ in UInt8.random(in: 0...255) }
        content = Lock(Content(state: StoreState(storeID: storeID, generation: 0, limits: limits, masterKeys: [])))
    }

    /// Carries out the changes in memory, one after the other.
    public func commit(
        _ changes: [KeyRecordChange], lane: Int, deadline: ContinuousClock.Instant
    ) async -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
        commitNow(changes)
    }

    /// Carries out the changes before it returns.
    package func commitNow(_ changes: [KeyRecordChange]) -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
        content.withLock { content in
            changes.map { change in
                do {
                    return .success(try Self.apply(change, to: &content))
                } catch {
                    return .failure(
                        error as? KeyServiceServerError
                            ?? KeyServiceServerError(.storeUnusable, "The change failed.", underlying: error))
                }
            }
        }
    }

    /// Forgets all tickets, as a store does when its only server starts again.
    package func forgetTickets() {
        content.withLock { content in
            for id in content.entries.keys { content.entries[id]?.ticket = nil }
        }
    }

    private static func apply(_ change: KeyRecordChange, to content: inout Content) throws -> KeyRecordOutcome {
        switch change {
        case .insert(let record):
            if let known = content.entries[record.id] { return known.key.record == record ? .done : .exists }
            content.add(StoredKey(record: record, count: GuessCount(), lastUsedAt: nil, lock: nil))
        case .find(let keyID):
            return find(keyID, in: content)
        case .charge(let keyID, let ticket, let time):
            return charge(keyID, ticket, time, in: &content)
        case .settle(let reference, let ticket, let result):
            guard content.entries[reference.id]?.ticket == ticket else { return .superseded }
            content.entries[reference.id]?.settle(result)
        case .noteUse(let reference, let time):
            guard var entry = content.entries[reference.id], entry.key.oblivious == nil else { break }
            entry.key.lastUsedAt = time
            if entry.ticket == nil { entry.key.count = GuessCount(inAll: entry.key.count.inAll) }
            content.entries[reference.id] = entry
        case .reseal(let record, let replaced):
            guard content.entries[record.id]?.key.record.content == replaced else { return .superseded }
            var new = record
            // The details of a key of version 2 change without its content, so they stay.
            if let oblivious = content.entries[record.id]?.key.oblivious { new.details = oblivious.record.details }
            content.entries[record.id]?.key.record = new
            content.entries[record.id]?.key.oblivious?.record = new
        case .update(let keyID, let update):
            let known = content.entries[keyID]?.key
            let found: ObliviousUpdate.Found =
                switch known {
                case nil: .nothing
                case let key?: key.oblivious.map { .key($0) } ?? .otherVersion
                }
            let new = try update.apply(found, content.state.limits)
            if case .otherVersion = found { break }
            if let new { content.add(StoredKey(new, content.state.limits)) } else { content.entries[keyID] = nil }
        case .checkIn:
            content.state.generation += 1
            return .checkedIn(content.state)
        }
        return .done
    }

    private static func find(_ keyID: String, in content: Content) -> KeyRecordOutcome {
        guard let entry = content.entries[keyID], entry.key.oblivious == nil else { return .noSuchKey }
        guard !content.isLocked(entry.key) else { return .locked }
        return .found(
            FoundKey(
                reference: KeyReference(id: keyID, row: entry.row), record: entry.key.record, count: entry.key.count,
                limits: content.state.limits))
    }

    private static func charge(
        _ keyID: String, _ ticket: GuessTicket, _ time: Int64, in content: inout Content
    ) -> KeyRecordOutcome {
        guard var entry = content.entries[keyID], entry.key.oblivious == nil else { return .noSuchKey }
        // The guess under way may be right. So its key does not count as locked yet.
        if entry.isHeld(at: time), entry.key.lock != .revoked { return .held }
        let outcome = find(keyID, in: content)
        guard case .found = outcome else { return outcome }
        let count = entry.key.count
        entry.key.count = GuessCount(inARow: count.inARow + 1, inAll: count.inAll + 1, lastWrongAt: time)
        if content.isLocked(entry.key) { entry.key.lock = .locked }
        (entry.ticket, entry.heldUntil) = (ticket, time + GuessTicket.lifetime)
        content.entries[keyID] = entry
        return outcome
    }
}

extension InMemoryKeyRecordStore.Content {
    mutating func add(_ key: StoredKey) {
        lastRow += 1
        entries[key.record.id] = InMemoryKeyRecordStore.Entry(row: entries[key.record.id]?.row ?? lastRow, key: key)
    }
}

extension InMemoryKeyRecordStore.Entry {
    fileprivate mutating func settle(_ result: GuessResult) {
        ticket = nil
        let count = key.count
        switch result {
        case .wrong: return
        case .right(let time):
            key.count = GuessCount(inAll: count.inAll - 1)
            key.lastUsedAt = time
        case .rightAndKept(let lastWrongAt, let time):
            key.count = GuessCount(inARow: count.inARow - 1, inAll: count.inAll - 1, lastWrongAt: lastWrongAt)
            key.lastUsedAt = time
        case .unused(let lastWrongAt):
            key.count = GuessCount(inARow: count.inARow - 1, inAll: count.inAll - 1, lastWrongAt: lastWrongAt)
        }
        if key.lock == .locked { key.lock = nil }
    }
}
