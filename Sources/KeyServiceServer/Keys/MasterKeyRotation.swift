internal import Foundation

/// The change of all records to the current master key, while servers run. You can stop it at any time: the next call
/// continues.
public struct MasterKeyRotation: Sendable {
    /// The result of a rotation.
    public struct Outcome: Sendable {
        /// The number of records that were sealed again.
        public var resealed = 0
        /// The number of records of the first versions. Each changes at the next right guess of its owner.
        public var waitingForOwner = 0
        /// The number of records that servers made under other master keys in the meantime.
        public var left = 0
        /// The master keys that no record needs any more.
        public var removed: [MasterKeyID] = []
    }

    private static let pageSize = 200

    private let store: any KeyRecordOperations
    private let masterKeys: MasterKeys

    /// Prepares a rotation.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - masterKeys: the new master key, and all older ones that the store still needs.
    public init(_ store: any KeyRecordOperations, _ masterKeys: MasterKeys) {
        self.store = store
        self.masterKeys = masterKeys
    }

    /// Seals all records again.
    ///
    /// - Parameter report: gets the number of changed records so far, after each page.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing, `busy` or
    ///   `storeUnusable`. Then call it again later: changed records stay changed.
    public func run(report: (Int) -> Void = { _ in }) async throws -> Outcome {
        try await masterKeys.match(store)
        try await resealIdentity()
        var outcome = Outcome()
        var row: Int64?
        while true {
            let page = try await store.records(notUnder: masterKeys.current.id, after: row, count: Self.pageSize)
            guard let last = page.last else { break }
            row = last.row
            outcome.resealed += try await reseal(page.map(\.1))
            report(outcome.resealed)
        }
        for (id, count) in try await store.counts() where id != masterKeys.current.id {
            if id == .first { outcome.waitingForOwner = count } else { outcome.left += count }
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

    /// - Returns: the number of changed records.
    private func reseal(_ records: [KeyRecord]) async throws -> Int {
        let changes = try records.compactMap { record in
            try RecordContent.resealed(record, masterKeys).map {
                KeyRecordChange.reseal($0, replaced: record.content)
            }
        }
        guard !changes.isEmpty else { return 0 }
        let results = await store.commit(changes, lane: 0, deadline: .now + .seconds(60))
        return try results.reduce(0) { count, result in
            if case .done = try result.get() { count + 1 } else { count }
        }
    }
}
