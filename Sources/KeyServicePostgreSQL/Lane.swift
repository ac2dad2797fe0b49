#if PostgreSQL
    internal import KeyServiceCore
    internal import VaultBase

    /// A connection that carries out batches, one after the other. Its callers block.
    final class Lane: Sendable {
        private let writer: Lock<LaneWriter>

        init(_ url: DatabaseURL, allowsAsynchronousStandby: Bool) {
            writer = Lock(LaneWriter(url, allowsAsynchronousStandby: allowsAsynchronousStandby))
        }

        /// Carries out updates in one transaction. If the database refuses one of them, each gets its own.
        func commit(_ updates: [KeyUpdate], deadline: ContinuousClock.Instant) -> [UpdateBatch.Outcome] {
            writer.withLock { $0.commit(updates, deadline: deadline) }
        }

        /// Notes a server and the time, and adds 1 to the generation.
        func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) throws -> StoreState {
            try writer.withLock { writer in
                do throws(DatabaseFailure) {
                    return try writer.checkIn(checkIn, deadline: deadline)
                } catch {
                    throw error.error
                }
            }
        }

        func close() {
            writer.withLock { $0.close() }
        }
    }

    private struct LaneWriter {
        typealias Outcome = UpdateBatch.Outcome

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

        mutating func commit(_ updates: [KeyUpdate], deadline: ContinuousClock.Instant) -> [Outcome] {
            do throws(DatabaseFailure) {
                return try UpdateBatch.run(updates, connection(deadline), deadline: deadline)
            } catch .connection {
                // Each update may happen twice.
                return Self.unknown(commitOnce(updates, deadline: deadline))
            } catch .statement where updates.count > 1 {
                return Self.unknown(updates.flatMap { commitOnce([$0], deadline: deadline) })
            } catch {
                return updates.map { _ in .failure(error.error) }
            }
        }

        private mutating func commitOnce(_ updates: [KeyUpdate], deadline: ContinuousClock.Instant) -> [Outcome] {
            do throws(DatabaseFailure) {
                return try UpdateBatch.run(updates, connection(deadline), deadline: deadline)
            } catch .statement where updates.count > 1 {
                return updates.flatMap { commitOnce([$0], deadline: deadline) }
            } catch {
                return updates.map { _ in .failure(error.error) }
            }
        }

        /// Returns the outcomes of a second attempt. If it failed, perhaps the first one happened.
        private static func unknown(_ outcomes: [Outcome]) -> [Outcome] {
            outcomes.map { outcome in
                outcome.mapError { ($0 as? KeyServiceServerError)?.withUnknownOutcome ?? $0 }
            }
        }

        mutating func checkIn(
            _ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> StoreState {
            var (clock, server) = (Parameters(), Parameters())
            clock.add(checkIn.isClockSet ? 1 : 0)
            server.add(checkIn.server)
            if !checkIn.isLast { server.add(StoredMasterKeyIDs.bytes(checkIn.masterKeys)) }
            let note = checkIn.isLast ? StateStatements.removeServer : StateStatements.noteServer
            let connection = try connection(deadline)
            let rows = try connection.run(
                [(StateStatements.checkIn, clock), (note, server), (StateStatements.masterKeys, Parameters())],
                deadline: deadline)
            guard rows.count == 3 else { throw .damaged }
            var state = try StateStatements.read(rows[0])
            state.masterKeys = try StateStatements.readMasterKeys(rows[2])
            // After a failover, this is another server. The service is not ready while a standby may lack guesses.
            if !allowsAsynchronousStandby {
                _ = try ReplicationCheck.run(connection, allowAsynchronousStandby: false, deadline: deadline)
            }
            return state
        }

        private mutating func connection(_ deadline: ContinuousClock.Instant) throws(DatabaseFailure) -> Connection {
            guard !isClosed else { throw .unreachable("the store is closed") }
            do throws(DatabaseFailure) {
                return try connector.connection(deadline: deadline)
            } catch .connection(let message) {
                throw .unreachable(message)
            }
        }
    }
#endif
