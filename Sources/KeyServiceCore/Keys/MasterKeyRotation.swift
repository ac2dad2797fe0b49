internal import VaultBase

/// The change of all records to the current master key, while servers run. You can stop it at any time: the next call
/// continues.
package struct MasterKeyRotation: Sendable {
    /// The result of a rotation.
    package struct Outcome: Sendable {
        /// The number of records that were sealed again.
        package var resealed = 0
        /// The ids of the records that do not open, the oldest first. They stay as they are.
        package var damaged: [String] = []
        /// The number of records that servers made under other master keys in the meantime.
        package var left = 0
        /// The master keys that no record needs any more.
        package var removed: [MasterKeyID] = []

        /// Makes the outcome of a rotation that has done nothing.
        package init() {}
    }

    private static let pageSize = 200

    private let store: any KeyRecordOperations
    private let masterKeys: MasterKeys

    /// Prepares a rotation.
    ///
    /// - Parameters:
    ///   - masterKeys: the new master key, and all older ones that the store still needs.
    package init(_ store: any KeyRecordOperations, _ masterKeys: MasterKeys) {
        self.store = store
        self.masterKeys = masterKeys
    }

    /// Seals all records again.
    ///
    /// - Parameter report: gets the number of changed records so far, after each page.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing, here or at a
    ///   running server, `busy` or `storeUnusable`. Then call it again later: changed records stay changed.
    package func run(report: (Int) -> Void = { _ in }) async throws -> Outcome {
        // This check comes before the new master key enters the store's list, because a server that lacks a key of the
        // list is not ready any more.
        try await requireKeyAtServers()
        try await masterKeys.match(store)
        var outcome = Outcome()
        var row: Int64?
        repeat {
            let page = try await store.page(
                after: row, count: Self.pageSize, of: .notUnder(masterKeys.current.id))
            let damaged = try await reseal(page.keys.map(\.key))
            outcome.resealed += page.keys.count - damaged.count
            outcome.damaged += page.damaged + damaged
            row = page.last
            if !page.keys.isEmpty { report(outcome.resealed) }
        } while row != nil
        try await resealIdentity()
        for (id, count) in try await store.counts() where id != masterKeys.current.id {
            outcome.left += count
        }
        outcome.left = max(0, outcome.left - outcome.damaged.count)
        for entry in try await store.state().masterKeys where entry.id != masterKeys.current.id {
            if try await store.removeMasterKey(entry.id) { outcome.removed.append(entry.id) }
        }
        return outcome
    }

    /// A server without the new master key could not open a record that was sealed again.
    private func requireKeyAtServers() async throws {
        let (servers, id) = (try await store.masterKeysOfServers(), masterKeys.current.id)
        let lacking = servers.filter { !$0.contains(id) }.count
        guard lacking > 0 else { return }
        throw KeyServiceServerError(
            .configurationInvalid,
            """
            \(lacking) of \(servers.count) running servers \(lacking == 1 ? "does" : "do") not have the master key \
            \(id). No key was changed.
            """, remedy: .restartServers)
    }

    private func resealIdentity() async throws {
        guard let stored = try await store.identity(), stored.masterKeyID != masterKeys.current.id else { return }
        // If a command changes the identity at this moment, its old master key stays needed until the next call.
        _ = try await store.setIdentity(
            IdentityKey(stored, masterKeys).sealed(masterKeys.current), insteadOf: stored)
    }

    /// - Returns: the ids of the records that do not open.
    private func reseal(_ keys: [StoredKey]) async throws -> [String] {
        guard !keys.isEmpty else { return [] }
        let (masterKeys, damaged) = (masterKeys, DamagedRecords())
        let updates = keys.map { key in
            KeyUpdate(key.record.id) { key, _ in
                guard let known = key, known.record.masterKeyID != masterKeys.current.id else { return }
                // A missing master key is no damage.
                _ = try masterKeys.masterKey(known.record.masterKeyID)
                do {
                    key?.record = try known.record.resealed(masterKeys)
                } catch let error as KeyServiceServerError where error.code == .storeUnusable {
                    damaged.add(known.record.id)
                }
            }
        }
        for result in await store.operate(updates) { try result.get() }
        return keys.map(\.record.id).filter(damaged.contains)
    }

    /// The ids of the records that do not open. A store may carry out an update several times.
    private final class DamagedRecords: Sendable {
        private let ids = Lock<Set<String>>([])

        func add(_ id: String) { ids.withLock { _ = $0.insert(id) } }

        func contains(_ id: String) -> Bool { ids.withLock { $0.contains(id) } }
    }
}
