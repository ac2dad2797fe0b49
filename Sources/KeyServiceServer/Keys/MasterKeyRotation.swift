internal import Foundation

/// The sealing of all records under the current master key, while servers run. It can be stopped at any time, and goes
/// on when it is called again.
public struct MasterKeyRotation: Sendable {
    /// What a rotation left.
    public struct Outcome: Sendable {
        /// The number of records that were sealed anew.
        public var resealed = 0
        /// The number of records of the first versions, which change at the next right guess of their owners.
        public var waitingForOwner = 0
        /// The number of records under other master keys, which servers made meanwhile.
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

    /// Seals all records anew.
    ///
    /// - Parameter report: gets the number of records that are sealed anew, now and then.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing, `busy` or
    ///   `storeUnusable`. Call it again later then: what is done stays done.
    public func run(report: (Int) -> Void = { _ in }) async throws -> Outcome {
        try await masterKeys.match(store)
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

    /// - Returns: the number of records that have a new content.
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
