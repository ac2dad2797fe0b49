#if PostgreSQL
    internal import KeyServiceCore

    /// The updates of a batch. The first round trip reads the keys, the second one writes what the updates have changed
    /// in one transaction. If another instance changed a key in between, its updates are carried out again.
    struct UpdateBatch {
        typealias Outcome = Result<Void, any Error>

        /// The most transactions for one batch.
        private static let maxRounds = 10

        private let updates: [KeyUpdate]
        private var outcomes: [Outcome]

        /// Carries out updates.
        ///
        /// - Throws: the reason why the transaction failed. A single update that fails has a failure as its outcome.
        static func run(
            _ updates: [KeyUpdate], _ connection: Connection, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> [Outcome] {
            var batch = UpdateBatch(updates)
            var places = Array(updates.indices)
            for _ in 1...maxRounds {
                let lost = try batch.attempt(places, connection, deadline: deadline)
                if lost.isEmpty { return batch.outcomes }
                places = places.filter { lost.contains(updates[$0].keyID) }
            }
            for place in places { batch.outcomes[place] = .failure(KeyServiceServerError.busy) }
            return batch.outcomes
        }

        private init(_ updates: [KeyUpdate]) {
            self.updates = updates
            outcomes = updates.map { _ in .failure(KeyServiceServerError.busy) }
        }

        /// - Returns: the ids of the keys that another instance changed in the meantime. Their updates have not happened.
        private mutating func attempt(
            _ places: [Int], _ connection: Connection, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> Set<String> {
            var ids = Parameters()
            ids.add(Set(places.map { updates[$0].keyID }).sorted())
            let read = try connection.run(
                [(StateStatements.state, Parameters()), (KeyStatements.find, ids)], deadline: deadline)
            guard read.count == 2 else { throw .damaged }
            let limits = try StateStatements.read(read[0]).limits
            let changes = apply(places, to: try KeyRows.byID(read[1]), limits)
            guard !changes.isEmpty else { return [] }
            var lost = changes.ids
            for rows in try connection.run(changes.queries, deadline: deadline) {
                for row in 0..<rows.count { lost.remove(try rows.text(row, 0)) }
            }
            return lost
        }

        /// Runs the updates in their order. A later update sees what an earlier one changed.
        private mutating func apply(
            _ places: [Int], to found: [String: Result<KeyRows.Found, any Error>], _ limits: GuessLimits
        ) -> Changes {
            var keys: [String: StoredKey?] = [:]
            for place in places {
                let update = updates[place]
                do {
                    var key = try keys[update.keyID] ?? found[update.keyID]?.get().key
                    try update.apply(&key, limits)
                    outcomes[place] = .success(())
                    if update.purpose != .read { keys.updateValue(key, forKey: update.keyID) }
                } catch {
                    outcomes[place] = .failure(error)
                }
            }
            var changes = Changes()
            // Two instances must add the same keys in the same order.
            for (keyID, key) in keys.sorted(by: { $0.key < $1.key }) {
                switch (try? found[keyID]?.get(), key) {
                case (let old?, let new?): changes.written.append((old, new))
                case (let old?, nil): changes.removed.append(old)
                case (nil, let new?): changes.added.append(new)
                case (nil, nil): break
                }
            }
            return changes
        }

        /// What the second round trip writes.
        private struct Changes {
            var written: [(old: KeyRows.Found, new: StoredKey)] = []
            var removed: [KeyRows.Found] = []
            var added: [StoredKey] = []

            var isEmpty: Bool { written.isEmpty && removed.isEmpty && added.isEmpty }

            var ids: Set<String> {
                Set(written.map(\.new.record.id) + removed.map(\.key.record.id) + added.map(\.record.id))
            }

            var queries: [Connection.Query] {
                var queries: [Connection.Query] = []
                if !written.isEmpty {
                    var parameters = Parameters()
                    parameters.add(written)
                    queries.append((KeyStatements.write, parameters))
                }
                if !removed.isEmpty {
                    var parameters = Parameters()
                    parameters.add(removed.map(\.number))
                    parameters.add(removed.map(\.version))
                    queries.append((KeyStatements.remove, parameters))
                }
                if !added.isEmpty {
                    var parameters = Parameters()
                    parameters.add(added)
                    queries.append((KeyStatements.add, parameters))
                }
                return queries
            }
        }
    }
#endif
