/// The move of all keys from one store into another. It can be stopped at any moment, and another call goes on. At any
/// time, servers can use at most one of the stores.
///
/// The target is retired until it is complete. The source is retired before the target becomes usable.
struct StoreMove {
    private static let pageSize = 500
    private static let movingReason = """
        Keys are being moved into this database. Finish the move: vault-key-service migrate-store
        """

    let source: any KeyRecordOperations
    let target: any KeyRecordOperations
    /// Gets the number of keys that are copied, now and then.
    let report: @Sendable (Int) -> Void

    /// Copies all keys, compares them, and lets the target take the place of the source.
    ///
    /// - Returns: the number of keys; nil if an earlier call had done everything.
    func run() async throws -> Int? {
        let (old, new) = (try await source.state(), try await target.state())
        let reason = Self.movedReason(to: new)
        guard old.retiredBecause == nil || old.retiredBecause == reason else {
            throw KeyServiceServerError(.configurationInvalid, old.retiredBecause ?? "")
        }
        if old.retiredBecause == reason, new.retiredBecause == nil { return nil }
        try await claimTarget(new)
        for masterKey in old.masterKeys { try await target.addMasterKey(masterKey) }
        try await target.setLimits(old.limits)
        try await removeStrangers()
        try await copy()
        let count = try await compare()
        try await source.retire(because: reason)
        try await target.retire(because: nil)
        return count
    }

    private static func movedReason(to state: StoreState) -> String {
        let name = state.storeID.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return """
            The keys were moved into the PostgreSQL database \(name). Start the service with --database-url.
            """
    }

    /// Keeps servers away from the target.
    private func claimTarget(_ state: StoreState) async throws {
        guard state.retiredBecause != Self.movingReason else { return }
        let isEmpty = try await target.summaries(after: nil, count: 1).isEmpty
        guard state.retiredBecause == nil, state.masterKeys.isEmpty, isEmpty else {
            throw KeyServiceServerError(
                .configurationInvalid, "The PostgreSQL database is in use. Move the keys into a new database.")
        }
        try await target.retire(because: Self.movingReason)
    }

    /// Removes what an earlier call copied, if the source has changed since.
    private func removeStrangers() async throws {
        var (ours, theirs) = (Pages(source), Pages(target))
        var isSame = true
        while let key = try await theirs.next() {
            if isSame { isSame = try await ours.next()?.record.id == key.record.id }
            if !isSame { _ = try await target.delete(keyID: key.record.id) }
        }
    }

    private func copy() async throws {
        var row: Int64?
        var count = 0
        while case let page = try await source.storedKeys(after: row, count: Self.pageSize), let last = page.last {
            try await target.put(page.map(\.1))
            row = last.row
            count += page.count
            report(count)
        }
    }

    /// - Returns: the number of keys.
    private func compare() async throws -> Int {
        var (ours, theirs) = (Pages(source), Pages(target))
        var count = 0
        while let key = try await ours.next() {
            guard try await theirs.next() == key else { throw Self.different(key.record.id) }
            count += 1
        }
        if let more = try await theirs.next() { throw Self.different(more.record.id) }
        return count
    }

    private static func different(_ keyID: String) -> KeyServiceServerError {
        KeyServiceServerError(
            .storeUnusable,
            "The key \(keyID) is not the same in both databases. Nothing was retired. Type the command again.")
    }

    /// All keys of a store, one after the other.
    private struct Pages {
        private let store: any KeyRecordOperations
        private var page: [StoredKey] = []
        private var index = 0
        private var row: Int64?

        init(_ store: any KeyRecordOperations) {
            self.store = store
        }

        mutating func next() async throws -> StoredKey? {
            if index == page.count {
                let found = try await store.storedKeys(after: row, count: StoreMove.pageSize)
                row = found.last?.row ?? row
                page = found.map(\.1)
                index = 0
            }
            guard index < page.count else { return nil }
            defer { index += 1 }
            return page[index]
        }
    }
}

extension KeyServiceFolder {
    /// Moves all keys of the folder's database into a shared store, which must be new. No server may run. After a
    /// failure, call it again.
    ///
    /// - Parameters:
    ///   - target: the shared store, with its tables.
    ///   - report: gets the number of keys that are copied, now and then.
    /// - Returns: the number of keys; nil if an earlier call had moved them.
    /// - Throws: ``KeyServiceServerError`` with code `busy` if a server uses the folder, `configurationInvalid` if the
    ///   target is in use or a master key is missing, `storeTooNew` or `storeUnusable`.
    public func moveKeys(
        into target: any KeyRecordOperations, report: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> Int? {
        let source = try openLocked(masterKeys())
        defer { source.close() }
        // A server with these files must be able to use the target.
        _ = try await masterKeys().match(source.state().masterKeys)
        let mark = try HighWaterMark(path: highWaterMarkPath)
        let state = try await source.state()
        if state.retiredBecause == nil { try mark.check(state) }
        let count = try await StoreMove(source: source, target: target, report: report).run()
        try await mark.raise(to: target.state())
        return count
    }
}
