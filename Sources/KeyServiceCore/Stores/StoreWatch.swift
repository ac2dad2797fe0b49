internal import VaultBase

/// The regular check of the store: it can be written, has the right master keys, and did not go back in time.
package final class StoreWatch: Sendable {
    /// The time between two check-ins while changes are made. A rollback by less time goes unnoticed.
    static let interval = Duration.milliseconds(500)

    private let commits: GroupCommit
    private let masterKeys: MasterKeys
    private let mark: HighWaterMark?
    private let now: @Sendable () -> Int64
    private let known = Lock(Known())

    private struct Known {
        var newest: StoreState?
        /// Whether an older state was found. Other instances go on with it, so the next one may look newer again.
        var isRolledBack = false
    }

    package init(
        commits: GroupCommit, masterKeys: MasterKeys, mark: HighWaterMark?, now: @escaping @Sendable () -> Int64
    ) {
        self.commits = commits
        self.masterKeys = masterKeys
        self.mark = mark
        self.now = now
    }

    /// Writes to the store and raises the mark.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack` if the store is an older one, now and in all later
    ///   calls: stop the service. `busy`, `storeUnusable`, or `configurationInvalid` if a master key or the mark's file
    ///   is missing, or the store may lose changes.
    package func checkIn() async throws {
        let deadline = ContinuousClock.now + .seconds(5)
        // Two check-ins may run at the same time. So this one compares with the state from before its start.
        let before = known.withLock { $0 }
        guard !before.isRolledBack else { throw Self.rolledBack }
        let state = try await commits.checkIn(at: now(), deadline: deadline)
        if let newest = before.newest, newest.storeID != state.storeID || newest.generation >= state.generation {
            known.withLock { $0.isRolledBack = true }
            // The next start must find it, too. The mark of another store stays as it is: that store may come back.
            // The service ends also if the file cannot be written.
            if newest.storeID == state.storeID { try? mark?.keepRollback(seen: newest.generation) }
            throw Self.rolledBack
        }
        known.withLock { known in
            if known.newest.map({ $0.generation < state.generation }) ?? true { known.newest = state }
        }
        try mark?.raise(to: state)
        _ = try masterKeys.match(state.masterKeys)
    }

    private static let rolledBack = KeyServiceServerError(
        .rolledBack,
        """
        The database is older than before. Perhaps a standby took over that missed the last changes. To go on with \
        this database, stop all servers.
        """, remedy: .acceptRollback)

    /// Checks in from time to time while changes are made.
    ///
    /// - Parameter report: gets a new problem, once.
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack`. Then the service must stop.
    package func run(report: (any Error) -> Void) async throws {
        var written = commits.batches
        var reported: String?
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            let batches = commits.batches
            // Another caller's check-in may have found a rollback.
            guard batches != written || known.withLock({ $0.isRolledBack }) else { continue }
            do {
                try await checkIn()
                written = batches
                reported = nil
            } catch let error as KeyServiceServerError where error.code == .rolledBack {
                throw error
            } catch {
                let problem = "\(error)"
                if problem != reported { report(error) }
                reported = problem
            }
        }
    }
}
