#if PostgreSQL
    internal import KeyServiceServer
    internal import VaultLocks

    /// A connection that carries out batches, one after the other. Its callers block.
    final class Lane: Sendable {
        private let writer: Lock<LaneWriter>

        init(_ url: DatabaseURL, allowsAsynchronousStandby: Bool) {
            writer = Lock(LaneWriter(url, allowsAsynchronousStandby: allowsAsynchronousStandby))
        }

        /// Carries out the changes in one transaction. If the database refuses one of them, each gets its own.
        func commit(_ changes: [KeyRecordChange], deadline: ContinuousClock.Instant) -> [ChangeBatch.Outcome] {
            writer.withLock { $0.commit(changes, deadline: deadline) }
        }

        func close() {
            writer.withLock { $0.close() }
        }
    }

    private struct LaneWriter {
        typealias Outcome = ChangeBatch.Outcome

        private var connector: Connector
        private var isClosed = false
        private let allowsAsynchronousStandby: Bool

        init(_ url: DatabaseURL, allowsAsynchronousStandby: Bool) {
            connector = Connector(url)
            self.allowsAsynchronousStandby = allowsAsynchronousStandby
        }

        mutating func close() {
            isClosed = true
            connector.close()
        }

        mutating func commit(_ changes: [KeyRecordChange], deadline: ContinuousClock.Instant) -> [Outcome] {
            guard !isClosed else { return Self.all(changes, KeyServiceServerError(.busy, "The store is closed.")) }
            var outcomes = Self.all(changes, .busy)
            for part in Self.parts(changes) {
                let results = commitPart(part.map { changes[$0] }, deadline: deadline)
                for (place, outcome) in zip(part, results) { outcomes[place] = outcome }
            }
            return outcomes
        }

        /// Divides changes into parts with a transaction each: either all changes of a part are updates, or none. The
        /// changes of each key keep their order.
        private static func parts(_ changes: [KeyRecordChange]) -> [[Int]] {
            var parts: [[Int]] = [[], []]
            var updated: Set<String> = []
            for (place, change) in changes.enumerated() {
                if case .update(let keyID, _) = change {
                    parts[parts.count - 1].append(place)
                    updated.insert(keyID)
                    continue
                }
                if let keyID = change.changedKeyID, updated.contains(keyID) {
                    parts += [[], []]
                    updated.removeAll()
                }
                parts[parts.count - 2].append(place)
            }
            return parts.filter { !$0.isEmpty }
        }

        private mutating func commitPart(_ changes: [KeyRecordChange], deadline: ContinuousClock.Instant) -> [Outcome] {
            do throws(DatabaseFailure) {
                return try attempt(changes, deadline: deadline)
            } catch .statement where changes.count > 1 {
                return changes.flatMap { commitPart([$0], deadline: deadline) }
            } catch .connection(let message) {
                return retry(changes, after: .connection(message), deadline: deadline)
            } catch {
                return Self.all(changes, error.error)
            }
        }

        /// Repeats the changes that may happen twice. The others fail.
        private mutating func retry(
            _ changes: [KeyRecordChange], after failure: DatabaseFailure, deadline: ContinuousClock.Instant
        ) -> [Outcome] {
            let again = changes.filter(\.mayHappenTwice)
            var outcomes = again.isEmpty ? [] : Self.all(again, failure.error)
            if !again.isEmpty {
                do throws(DatabaseFailure) {
                    outcomes = try attempt(again, deadline: deadline)
                } catch .statement where again.count > 1 {
                    outcomes = again.flatMap { commitPart([$0], deadline: deadline) }
                } catch {
                    outcomes = Self.all(again, error.error)
                }
            }
            var next = outcomes.makeIterator()
            return changes.map { $0.mayHappenTwice ? next.next() ?? .failure(failure.error) : .failure(failure.error) }
        }

        private mutating func attempt(
            _ changes: [KeyRecordChange], deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> [Outcome] {
            let connection: Connection
            do throws(DatabaseFailure) {
                connection = try connector.connection(deadline: deadline)
            } catch .connection(let message) {
                throw .unreachable(message)
            }
            if case .update = changes.first {
                return try UpdateTransaction.run(changes, connection, deadline: deadline)
            }
            let batch = ChangeBatch(changes)
            var outcomes = try batch.outcomes(connection.run(batch.queries, deadline: deadline))
            try explain(changes, &outcomes, connection, deadline: deadline)
            try checkStandby(changes, &outcomes, connection, deadline: deadline)
            return outcomes
        }

        /// Finds out why charges were not made.
        private func explain(
            _ changes: [KeyRecordChange], _ outcomes: inout [Outcome], _ connection: Connection,
            deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) {
            var places: [Int] = []
            var lookups: [KeyRecordChange] = []
            for (place, change) in changes.enumerated() {
                guard case .charge(let keyID, _, _) = change, case .success(.held) = outcomes[place] else { continue }
                places.append(place)
                lookups.append(.find(keyID: keyID))
            }
            guard !lookups.isEmpty else { return }
            let batch = ChangeBatch(lookups)
            // The transaction of the changes is committed. So a failure here concerns these charges only.
            let reasons: [Outcome]
            do throws(DatabaseFailure) {
                reasons = try batch.outcomes(connection.run(batch.queries, deadline: deadline))
            } catch {
                reasons = Self.all(lookups, .busy)
            }
            for (place, reason) in zip(places, reasons) {
                // A key that is free by now was held before: the caller tries again.
                if case .success(.found) = reason { continue }
                outcomes[place] = reason
            }
        }

        /// Looks at the standbys of the server at each check-in: after a failover, it is another server. The service is
        /// not ready while a standby may lack charges.
        private func checkStandby(
            _ changes: [KeyRecordChange], _ outcomes: inout [Outcome], _ connection: Connection,
            deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) {
            for (place, change) in changes.enumerated() {
                guard case .checkIn = change, !allowsAsynchronousStandby else { continue }
                do throws(DatabaseFailure) {
                    _ = try ReplicationCheck.run(
                        connection, allowAsynchronousStandby: false, deadline: deadline)
                } catch {
                    outcomes[place] = .failure(error.error)
                }
            }
        }

        private static func all(_ changes: [KeyRecordChange], _ error: KeyServiceServerError) -> [Outcome] {
            changes.map { _ in .failure(error) }
        }
    }

    extension KeyRecordChange {
        /// Whether the change may be carried out again if nobody knows whether it happened. A charge must not:
        /// the ticket of the first one would hold the key. A repeated reseal would look superseded.
        fileprivate var mayHappenTwice: Bool {
            switch self {
            case .insert, .find, .settle, .noteUse, .checkIn, .update: true
            case .charge, .reseal: false
            }
        }
    }
#endif
