internal import VaultBase

/// The regular check of the store: it can be written, has the right master keys, and did not go back in time.
package final class StoreWatch: Sendable {
    /// The time between two check-ins while changes are made. A rollback by less time goes unnoticed.
    static let interval = Duration.milliseconds(500)
    /// The longest wait for the store, and then for the mark.
    private static let timeout = Duration.seconds(5)

    private let commits: GroupCommit
    private let masterKeys: MasterKeys
    private let mark: HighWaterMark?
    private let observer: (any KeyServiceObserver)?
    private let now: @Sendable () -> Int64
    /// The newest known state.
    private let newest: Lock<StoreState?>

    package init(
        commits: GroupCommit, masterKeys: MasterKeys, mark: HighWaterMark?,
        observer: (any KeyServiceObserver)? = nil, now: @escaping @Sendable () -> Int64
    ) {
        self.commits = commits
        self.masterKeys = masterKeys
        self.mark = mark
        self.observer = observer
        self.now = now
        newest = Lock(nil)
    }

    /// Writes to the store and raises the mark.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack` if the store is an older one: stop the service.
    ///   `busy`, also if the disk of the mark hangs, `storeUnusable`, or `configurationInvalid` if a master key is
    ///   missing or the mark cannot be written.
    package func checkIn() async throws {
        // Two check-ins may run at the same time. So this one compares with the state from before its start.
        let before = newest.withLock { $0 }
        let time = now()
        let state = try await commits.checkIn(at: time, deadline: .now + Self.timeout)
        observer?.checkedIn(at: time)
        if let before, before.storeID != state.storeID || before.generation >= state.generation {
            throw KeyServiceServerError(
                .rolledBack,
                """
                The database is older than before. Perhaps a standby took over that missed the last changes. To go \
                on with this database, stop all servers.
                """, remedy: .acceptRollback)
        }
        newest.withLock { newest in
            if newest.map({ $0.generation < state.generation }) ?? true { newest = state }
        }
        try await mark?.raise(to: state, deadline: .now + Self.timeout)
        _ = try masterKeys.match(state.masterKeys)
    }

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
            guard batches != written else { continue }
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
