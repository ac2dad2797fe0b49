package import KeyServiceCore
package import VaultBase

/// A store that forgets everything when it ends.
package final class InMemoryKeyRecordStore: KeyRecordOperations {
    package struct Content {
        package var rows: [String: (row: Int64, key: StoredKey)] = [:]
        var lastRow: Int64 = 0
        var state: StoreState
        var identity: StoredIdentity?
        /// The master keys of the servers, by the servers' numbers.
        var servers: [Int64: [MasterKeyID]] = [:]
        var auditLogs: [[UInt8]] = []
    }

    package let content: Lock<Content>

    /// Makes an empty store.
    package init(limits: GuessLimits = GuessLimits()) {
        let storeID = (0..<16).map { _ in UInt8.random(in: 0...255) }
        content = Lock(Content(state: StoreState(storeID: storeID, generation: 0, limits: limits, masterKeys: [])))
    }

    package func commit(
        _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
    ) async -> [Result<Void, any Error>] {
        commitNow(updates)
    }

    /// Carries out the updates before it returns.
    @discardableResult
    package func commitNow(_ updates: [KeyUpdate]) -> [Result<Void, any Error>] {
        content.withLock { content in
            updates.map { update in
                Result {
                    var key = content.rows[update.keyID]?.key
                    try update.apply(&key, content.state.limits)
                    if update.purpose != .read { content.put(key, id: update.keyID) }
                }
            }
        }
    }

    package func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
        content.withLock { content in
            content.servers[checkIn.server] = checkIn.isLast ? nil : checkIn.masterKeys
            content.state.clock.checkIn(at: checkIn.time, isClockSet: checkIn.isClockSet)
            content.state.generation += 1
            return content.state
        }
    }

    package func state() async throws -> StoreState { content.withLock { $0.state } }

    package func write(limits: GuessLimits) async throws { content.withLock { $0.state.limits = limits } }

    package func write(clock: StoreClock) async throws { content.withLock { $0.state.clock = clock } }

    package func write(generation: Int64) async throws { content.withLock { $0.state.generation = generation } }

    package func addMasterKey(_ masterKey: StoredMasterKey) async throws {
        content.withLock { content in
            guard !content.state.masterKeys.contains(where: { $0.id == masterKey.id }) else { return }
            content.state.masterKeys.append(masterKey)
        }
    }

    package func removeMasterKey(_ id: MasterKeyID) async throws -> Bool {
        content.withLock { content in
            guard !content.rows.values.contains(where: { $0.key.record.masterKeyID == id }),
                content.identity?.masterKeyID != id
            else { return false }
            content.state.masterKeys.removeAll { $0.id == id }
            return true
        }
    }

    package func masterKeysOfServers() async throws -> [[MasterKeyID]] { content.withLock { Array($0.servers.values) } }

    package func identity() async throws -> StoredIdentity? { content.withLock { $0.identity } }

    package func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
        content.withLock { content in
            guard content.identity == old else { return false }
            content.identity = new
            return true
        }
    }

    package func auditLogs() async throws -> [[UInt8]] { content.withLock { $0.auditLogs } }

    package func addAuditLog(_ id: [UInt8]) async throws {
        content.withLock { content in
            if !content.auditLogs.contains(id) { content.auditLogs.append(id) }
        }
    }

    package func page(after row: Int64?, count: Int, of selection: KeySelection) async throws -> KeyPage {
        content.withLock { content in
            let rows = content.sorted.filter { $0.row > row ?? .min }.prefix(count)
            var page = KeyPage()
            page.last = rows.last?.row
            page.keys = rows.filter { row in
                switch selection {
                case .all: true
                case .unsettled: row.key.state == .unfinished || !row.key.guesses.isEmpty
                case .notUnder(let id): row.key.record.masterKeyID != id
                }
            }
            return page
        }
    }

    package func counts() async throws -> [MasterKeyID: Int] {
        content.withLock { content in
            Dictionary(grouping: content.rows.values, by: \.key.record.masterKeyID).mapValues(\.count)
        }
    }

    package func keys(ofOwner owner: [UInt8]) async throws -> KeyPage {
        content.withLock { content in
            var page = KeyPage()
            page.keys = Array(content.sorted.filter { $0.key.owner == owner && $0.key.state == .live }.prefix(1000))
            return page
        }
    }

    package func remove(keyID: String) async throws -> Bool {
        content.withLock { $0.rows.removeValue(forKey: keyID) != nil }
    }

    package func eraseOldCopies() async throws -> Bool { true }

    package func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
        changing(whileRetiredBecause: old) { $0.state.retiredBecause = reason }
    }

    package func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
        changing(whileRetiredBecause: reason) { content in
            for key in keys { content.put(key, id: key.record.id) }
        }
    }

    package func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
        changing(whileRetiredBecause: reason) { $0.put(nil, id: keyID) }
    }

    private func changing(whileRetiredBecause reason: String?, _ body: (inout Content) -> Void) -> Bool {
        content.withLock { content in
            guard content.state.retiredBecause == reason else { return false }
            body(&content)
            return true
        }
    }
}

extension InMemoryKeyRecordStore.Content {
    fileprivate var sorted: [(row: Int64, key: StoredKey)] { rows.values.sorted { $0.row < $1.row } }

    fileprivate mutating func put(_ key: StoredKey?, id: String) {
        guard let key else {
            rows[id] = nil
            return
        }
        lastRow += 1
        rows[id] = (rows[id]?.row ?? lastRow, key)
    }
}
