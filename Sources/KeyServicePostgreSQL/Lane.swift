#if PostgreSQL
    internal import KeyServiceCore
    internal import VaultBase

    /// A connection that carries out batches, one after the other. Its callers block.
    final class Lane: Sendable {
        private let writer: Lock<LaneWriter>
        private let standbys: StandbyWatch?

        /// - Parameter standbys: the watch for asynchronous standbys; nil if they are accepted.
        init(_ url: DatabaseURL, standbys: StandbyWatch?) {
            writer = Lock(LaneWriter(url, standbys: standbys))
            self.standbys = standbys
        }

        /// Carries out updates in one transaction. If the database refuses one of them, each gets its own.
        func commit(_ updates: [KeyUpdate], deadline: ContinuousClock.Instant) -> [UpdateBatch.Outcome] {
            if let refusal = standbys?.refusal { return updates.map { _ in .failure(refusal) } }
            return writer.withLock { $0.commit(updates, deadline: deadline) }
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
        private let standbys: StandbyWatch?

        init(_ url: DatabaseURL, standbys: StandbyWatch?) {
            connector = Connector(url)
            self.standbys = standbys
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
            // After a failover, this is another server. A standby may also appear at any time. The check comes before
            // the generation grows, because a server that fails the check does not learn the new generation, and could
            // miss a rollback.
            if let standbys { try standbys.note(ReplicationCheck.run(connection, deadline: deadline)) }
            let rows = try connection.run(
                [(StateStatements.checkIn, clock), (note, server), (StateStatements.masterKeys, Parameters())],
                deadline: deadline)
            guard rows.count == 3 else { throw .damaged }
            var state = try StateStatements.read(rows[0])
            state.masterKeys = try StateStatements.readMasterKeys(rows[2])
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
