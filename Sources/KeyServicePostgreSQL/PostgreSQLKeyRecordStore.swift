#if PostgreSQL
    internal import Dispatch
    package import KeyServiceCore
    internal import VaultBase

    /// The records in a PostgreSQL database, for one or several instances of the service.
    ///
    /// A change is done when the database, and its synchronous standby, have it on disk.
    package final class PostgreSQLKeyRecordStore: KeyRecordOperations {
        /// The changes that a store may make to its tables at its start.
        package struct Purpose: Sendable {
            let permission: Schema.Permission

            /// Makes the tables, or migrates older ones.
            package static let create = Purpose(permission: .create)
            /// Migrates older tables.
            package static let serve = Purpose(permission: .migrate)
            /// Changes no tables.
            package static let operate = Purpose(permission: .none)
        }

        /// The number of connections for changes.
        package static let standardLanes = 4
        /// The time for each call of an operator.
        static let timeout = Duration.seconds(30)

        /// The number of batches that may be under way at a time.
        package let lanes: Int

        private let changeLanes: [Lane]
        private let operatorConnector: Lock<Connector?>
        private let operatorLane: Lane
        /// The thread of the operator's calls, as libpq blocks.
        private let operatorQueue = DispatchQueue(label: "credential-vault.key-service.operations")

        private init(_ url: DatabaseURL, lanes: Int, standbys: StandbyWatch?) {
            self.lanes = lanes
            changeLanes = (0..<lanes).map { _ in Lane(url, standbys: standbys) }
            operatorConnector = Lock(Connector(url, isFirst: true))
            // An operator may also work beside an asynchronous standby.
            operatorLane = Lane(url, standbys: nil)
        }

        /// Connects to a database.
        ///
        /// - Parameters:
        ///   - url: `postgresql://USER@HOST:PORT,HOST:PORT/DATABASE`, without a password. The first server that
        ///     accepts writes is used, now and after each failure.
        ///   - purpose: what may happen to the tables.
        ///   - lanes: the number of connections for changes, at least 1.
        ///   - allowAsynchronousStandby: whether a standby may lack the last charges. If not, opening fails if such a
        ///     standby is there, and guesses fail 10 minutes after one appears.
        ///   - observer: sees how many asynchronous standbys there are.
        ///   - warn: gets sentences about settings of the database that endanger the records, now and later.
        ///   - now: returns the time for the 10 minutes.
        /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the URL, the server or its standby
        ///   cannot be used, or the server does not accept the user; `storeTooNew`, or `busy` if the server cannot be
        ///   reached.
        package static func open(
            url: String, purpose: Purpose, lanes: Int = standardLanes, allowAsynchronousStandby: Bool = false,
            observer: (any KeyServiceObserver)? = nil, warn: @escaping @Sendable (String) -> Void = { _ in },
            now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
        ) async throws -> PostgreSQLKeyRecordStore {
            let store = PostgreSQLKeyRecordStore(
                try DatabaseURL(url), lanes: max(1, lanes),
                standbys: allowAsynchronousStandby ? nil : StandbyWatch(observer: observer, warn: warn, now: now))
            try await store.perform { connection, deadline in
                try Schema.prepare(connection, purpose.permission, deadline: deadline)
                let check = try ReplicationCheck.run(connection, deadline: deadline)
                for warning in check.warnings { warn(warning) }
                guard !allowAsynchronousStandby else { return }
                if check.asynchronousStandbys > 0 { throw check.refusal }
                if check.isBlind { warn(ReplicationCheck.blindness) }
            }
            return store
        }

        /// Carries out the updates in one transaction and two round trips.
        package func commit(
            _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
        ) async -> [Result<Void, any Error>] {
            guard !updates.isEmpty else { return [] }
            return changeLanes[lane % lanes].commit(updates, deadline: deadline)
        }

        /// Carries out updates on a connection and a thread of their own.
        package func operate(_ updates: [KeyUpdate]) async -> [Result<Void, any Error>] {
            guard !updates.isEmpty else { return [] }
            return await withCheckedContinuation { continuation in
                operatorQueue.async {
                    let outcomes = self.operatorLane.commit(updates, deadline: .now + Self.timeout)
                    continuation.resume(returning: outcomes)
                }
            }
        }

        /// Notes a server and the database's time, and adds 1 to the generation.
        package func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
            try changeLanes[0].checkIn(checkIn, deadline: deadline)
        }

        /// Closes all connections. Every later call fails.
        package func close() {
            for lane in changeLanes + [operatorLane] { lane.close() }
            operatorConnector.withLock { $0 = nil }
        }

        /// Runs an operator's call on its own connection, on a thread that may block.
        func perform<R: Sendable>(
            _ body: @escaping @Sendable (Connection, ContinuousClock.Instant) throws -> R
        ) async throws -> R {
            try await withCheckedThrowingContinuation { continuation in
                operatorQueue.async {
                    continuation.resume(with: Result { try self.performNow(.now + Self.timeout, body) })
                }
            }
        }

        private func performNow<R: Sendable>(
            _ deadline: ContinuousClock.Instant, _ body: @Sendable (Connection, ContinuousClock.Instant) throws -> R
        ) throws -> R {
            return try operatorConnector.withLock { connector in
                do {
                    guard let connection = try connector?.connection(deadline: deadline) else {
                        throw KeyServiceServerError(.busy, "The store is closed.")
                    }
                    return try body(connection, deadline)
                } catch let failure as DatabaseFailure {
                    throw failure.error
                }
            }
        }
    }
#endif
