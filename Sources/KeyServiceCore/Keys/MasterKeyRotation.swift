/// The change of all records to the current master key, while servers run. You can stop it at any time: the next call
/// continues.
package struct MasterKeyRotation: Sendable {
    /// The result of a rotation.
    package struct Outcome: Sendable {
        /// The number of records that were sealed again.
        package var resealed = 0
        /// The number of records that servers made under other master keys in the meantime.
        package var left = 0
        /// The master keys that no record needs any more.
        package var removed: [MasterKeyID] = []
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
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing, `busy` or
    ///   `storeUnusable`. Then call it again later: changed records stay changed.
    package func run(report: (Int) -> Void = { _ in }) async throws -> Outcome {
        try await masterKeys.match(store)
        try await resealIdentity()
        var outcome = Outcome()
        var row: Int64?
        repeat {
            let page = try await store.page(
                after: row, count: Self.pageSize, of: .notUnder(masterKeys.current.id))
            outcome.resealed += try await reseal(page.undamagedKeys())
            row = page.last
            if !page.keys.isEmpty { report(outcome.resealed) }
        } while row != nil
        for (id, count) in try await store.counts() where id != masterKeys.current.id {
            outcome.left += count
        }
        for entry in try await store.state().masterKeys where entry.id != masterKeys.current.id {
            if try await store.removeMasterKey(entry.id) { outcome.removed.append(entry.id) }
        }
        return outcome
    }

    private func resealIdentity() async throws {
        guard let stored = try await store.identity(), stored.masterKeyID != masterKeys.current.id else { return }
        // If a command changes the identity at this moment, its old master key stays needed until the next call.
        _ = try await store.setIdentity(
            IdentityKey(stored, masterKeys).sealed(masterKeys.current), insteadOf: stored)
    }

    private func reseal(_ keys: [StoredKey]) async throws -> Int {
        guard !keys.isEmpty else { return 0 }
        let masterKeys = masterKeys
        let updates = keys.map { key in
            KeyUpdate(key.record.id) { key, _ in
                guard let known = key, known.record.masterKeyID != masterKeys.current.id else { return }
                key?.record = try RecordContent.resealed(known.record, masterKeys)
            }
        }
        for result in await store.operate(updates) { try result.get() }
        return keys.count
    }
}
