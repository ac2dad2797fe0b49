internal import VaultBase

/// The regular check of the store: it can be written, has the right master keys, and did not go back in time.
package final class StoreWatch: Sendable {
    /// The time between two check-ins while changes are made. A rollback by less time goes unnoticed.
    static let interval = Duration.milliseconds(500)
    /// The longest time between two check-ins. An operator's command regards a server as stopped after
    /// ``ServerCheckIn/lifetime``, so two lost check-ins do no harm.
    static let longestPause = Duration.seconds(20)
    /// The longest wait for the store, and then for the mark.
    private static let timeout = Duration.seconds(5)

    private let commits: GroupCommit
    private let masterKeys: MasterKeys
    private let mark: HighWaterMark?
    private let observer: (any KeyServiceObserver)?
    private let now: @Sendable () -> Int64
    private let instant: @Sendable () -> ContinuousClock.Instant
    /// The number of this run of the server.
    private let server = Int64.random(in: .min ... .max)
    private let jumps = Lock(ClockJumps())
    private let known = Lock(Known())

    private struct Known {
        var newest: StoreState?
        /// Whether an older state was found. This is kept, because other instances may go on with the older store until
        /// it looks newer again.
        var isRolledBack = false
    }

    /// - Parameters:
    ///   - now: returns the time in seconds since 1970.
    ///   - instant: returns the same moment on a clock that nobody can set.
    package init(
        commits: GroupCommit, masterKeys: MasterKeys, mark: HighWaterMark?,
        observer: (any KeyServiceObserver)? = nil, now: @escaping @Sendable () -> Int64,
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.commits = commits
        self.masterKeys = masterKeys
        self.mark = mark
        self.observer = observer
        self.now = now
        self.instant = instant
    }

    /// Writes to the store and raises the mark.
    ///
    /// - Parameter isLast: whether the server ends now.
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack` if the store is an older one, now and in all later
    ///   calls: stop the service. `busy`, also if the disk of the mark hangs, `storeUnusable`, or `configurationInvalid` if
    ///   a master key is missing, the mark cannot be written, or the store may lose changes.
    package func checkIn(isLast: Bool = false) async throws {
        _ = try await checkedIn(isLast: isLast)
    }

    /// Checks in, and returns the time in seconds since 1970 by which old keys may be erased.
    ///
    /// - Throws: as ``checkIn(isLast:)``, or ``KeyServiceServerError`` with code `clockUncertain`.
    package func timeForErasing() async throws -> Int64 {
        let (time, state) = try await checkedIn()
        try state.clock.requireSteady(at: time)
        return time
    }

    private func checkedIn(isLast: Bool = false) async throws -> (time: Int64, state: StoreState) {
        // Two check-ins may run at the same time. So this one compares with the state from before its start.
        let before = known.withLock { $0 }
        guard !before.isRolledBack else { throw Self.rolledBack }
        let (time, instant) = (now(), instant())
        let isClockSet = jumps.withLock { $0.look(at: time, instant) }
        let state = try await commits.checkIn(
            ServerCheckIn(
                server: server, time: time, masterKeys: masterKeys.ids, isClockSet: isClockSet, isLast: isLast),
            deadline: .now + Self.timeout)
        observer?.checkedIn(at: time)
        if isClockSet { jumps.withLock { $0.told() } }
        if let newest = before.newest, newest.storeID != state.storeID || newest.generation >= state.generation {
            known.withLock { $0.isRolledBack = true }
            // The next start must find it, too. The mark of another store stays as it is: that store may come back. The
            // service ends even if the file cannot be written.
            if newest.storeID == state.storeID {
                try? await mark?.keepRollback(seen: newest.generation, deadline: .now + Self.timeout)
            }
            throw Self.rolledBack
        }
        known.withLock { known in
            if known.newest.map({ $0.generation < state.generation }) ?? true { known.newest = state }
        }
        try await mark?.raise(to: state, deadline: .now + Self.timeout)
        _ = try masterKeys.match(state.masterKeys)
        return (time, state)
    }

    private static let rolledBack = KeyServiceServerError(
        .rolledBack,
        """
        The database is older than before. Perhaps a standby that missed the last changes took over. To go on with \
        this database, stop all servers.
        """, remedy: .acceptRollback)

    /// Checks in from time to time, and more often while changes are made.
    ///
    /// - Parameter report: gets a new problem, once.
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack`. Then the service must stop.
    package func run(report: (any Error) -> Void) async throws {
        var (written, checkedInAt) = (commits.batches, ContinuousClock.now)
        var reported: String?
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            let batches = commits.batches
            // Another caller's check-in may have found a rollback.
            guard
                batches != written || checkedInAt.duration(to: .now) >= Self.longestPause
                    || known.withLock({ $0.isRolledBack })
            else { continue }
            do {
                try await checkIn()
                (written, checkedInAt) = (batches, .now)
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
