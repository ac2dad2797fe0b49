#if PostgreSQL
    internal import KeyServiceServer

    /// The updates of a batch in one transaction of two round trips. The first one locks and reads the keys. The second
    /// one writes what the updates have changed, and commits.
    struct UpdateTransaction {
        typealias Outcome = ChangeBatch.Outcome

        /// A key before the updates, and after those that have run.
        private struct Key {
            /// The row in the database; nil for a key that is not there.
            var number: Int64?
            let old: ObliviousUpdate.Found
            var new: ObliviousUpdate.Found
            /// Whether an update deleted the key in between.
            var wasDeleted = false
        }

        /// The most transactions for one batch. Each one after the first is for keys that another instance added at
        /// the same moment.
        private static let maxRounds = 5
        /// The time for the end of a transaction that failed.
        private static let rollbackTime = Duration.seconds(1)

        private let updates: [(keyID: String, update: ObliviousUpdate)]
        private var outcomes: [Outcome]

        /// Carries out changes that are all updates.
        ///
        /// - Throws: the reason why the transaction failed. A single update that fails has a failure as its outcome.
        static func run(
            _ changes: [KeyRecordChange], _ connection: Connection, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> [Outcome] {
            var transaction = UpdateTransaction(changes)
            var places = Array(changes.indices)
            for _ in 1...maxRounds {
                let lost = try transaction.attempt(places, connection, deadline: deadline)
                if lost.isEmpty { return transaction.outcomes }
                places = places.filter { lost.contains(transaction.updates[$0].keyID) }
            }
            for place in places { transaction.outcomes[place] = .failure(.busy) }
            return transaction.outcomes
        }

        private init(_ changes: [KeyRecordChange]) {
            updates = changes.compactMap { change in
                if case .update(let keyID, let update) = change { (keyID, update) } else { nil }
            }
            outcomes = changes.map { _ in .failure(.busy) }
        }

        /// - Returns: the ids of the new keys that another instance added in the meantime. Their updates have not
        ///   happened.
        private mutating func attempt(
            _ places: [Int], _ connection: Connection, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> Set<String> {
            do throws(DatabaseFailure) {
                var ids = Parameters()
                ids.add(Set(places.map { updates[$0].keyID }).sorted())
                let found = try connection.run(
                    [
                        (UpdateStatements.begin, Parameters()), (StateStatements.state, Parameters()),
                        (UpdateStatements.lock, ids), (UpdateStatements.uses, ids), (UpdateStatements.tries, ids),
                    ], deadline: deadline)
                guard found.count == 5 else { throw .damaged }
                let keys = apply(
                    places, to: try Self.keys(found[2], uses: found[3], tries: found[4]),
                    try StateStatements.read(found[1]).limits)
                let difference = Difference(keys)
                let rows = try connection.run(
                    difference.queries + [(UpdateStatements.commit, Parameters())], deadline: deadline)
                guard !difference.added.isEmpty else { return [] }
                // The statement that adds keys is the last one before the commit.
                guard rows.count >= 2 else { throw .damaged }
                var lost = Set(difference.added.map(\.record.id))
                for row in 0..<rows[rows.count - 2].count { lost.remove(try rows[rows.count - 2].text(row, 0)) }
                return lost
            } catch {
                connection.rollBack(deadline: .now + Self.rollbackTime)
                throw error
            }
        }

        /// Reads the locked keys. A damaged one must not fail the others.
        private static func keys(
            _ rows: Rows, uses: Rows, tries: Rows
        ) throws(DatabaseFailure) -> [String: Result<Key, KeyServiceServerError>] {
            let tries = try ObliviousRows.tries(tries)
            var usedAt: [Int64: Int64] = [:]
            for row in 0..<uses.count { usedAt[try uses.number(row, 0)] = try uses.optionalNumber(row, 1) }
            var keys: [String: Result<Key, KeyServiceServerError>] = [:]
            for row in 0..<rows.count {
                let number = try rows.number(row, 0)
                let found: ObliviousUpdate.Found
                if try rows.number(row, 3) == KeyDetails.obliviousKind {
                    let key = try? ObliviousRows.key(
                        rows, row, tries: tries[number] ?? [], lastUsedAt: usedAt[number])
                    guard let key else {
                        keys[try rows.text(row, 1)] = .failure(ObliviousRows.damaged)
                        continue
                    }
                    found = .key(key)
                } else {
                    found = .otherVersion
                }
                keys[try rows.text(row, 1)] = .success(Key(number: number, old: found, new: found))
            }
            return keys
        }

        /// Runs the updates in their order. A later update sees what an earlier one changed.
        private mutating func apply(
            _ places: [Int], to keys: [String: Result<Key, KeyServiceServerError>], _ limits: GuessLimits
        ) -> [Key] {
            var keys = keys
            for place in places {
                let (keyID, update) = updates[place]
                do {
                    var key = try keys[keyID]?.get() ?? Key(number: nil, old: .nothing, new: .nothing)
                    let new = try update.apply(key.new, limits)
                    outcomes[place] = .success(.done)
                    if case .otherVersion = key.new { continue }
                    if new == nil { key.wasDeleted = true }
                    key.new = new.map { .key($0) } ?? .nothing
                    keys[keyID] = .success(key)
                } catch {
                    outcomes[place] = .failure(
                        error as? KeyServiceServerError
                            ?? KeyServiceServerError(.storeUnusable, "The change failed.", underlying: error))
                }
            }
            // Two instances must add the same keys in the same order.
            return keys.sorted { $0.key < $1.key }.compactMap { try? $0.value.get() }
        }

        /// What the second round trip writes.
        private struct Difference {
            var removed: [Int64] = []
            var removedTries: [[UInt8]] = []
            var written: [(number: Int64, key: ObliviousKey)] = []
            var used: [(number: Int64, at: Int64?)] = []
            var addedTries: [(number: Int64, new: ObliviousKey.Try)] = []
            var added: [ObliviousKey] = []

            init(_ keys: [Key]) {
                for key in keys {
                    switch (key.old, key.new) {
                    case (.key(let old), .key(let new)) where !key.wasDeleted:
                        if let number = key.number { write(number, old, new) }
                    case (.key, .nothing), (.key, .key):
                        if let number = key.number { removed.append(number) }
                        if case .key(let new) = key.new { added.append(new) }
                    case (.nothing, .key(let new)): added.append(new)
                    default: break
                    }
                }
            }

            private mutating func write(_ number: Int64, _ old: ObliviousKey, _ new: ObliviousKey) {
                removedTries += old.tries.filter { !new.tries.contains($0) }.map(\.ticket)
                addedTries += new.tries.filter { !old.tries.contains($0) }.map { (number, $0) }
                if new.lastUsedAt != old.lastUsedAt { used.append((number, new.lastUsedAt)) }
                var same = new
                (same.tries, same.lastUsedAt) = (old.tries, old.lastUsedAt)
                if same != old { written.append((number, new)) }
            }

            /// The statements. The one that adds keys is the last.
            var queries: [Connection.Query] {
                var queries: [Connection.Query] = []
                if !removed.isEmpty { queries.append((UpdateStatements.remove, Self.parameters { $0.add(removed) })) }
                if !removedTries.isEmpty {
                    queries.append((UpdateStatements.removeTries, Self.parameters { $0.add(removedTries) }))
                }
                if !written.isEmpty { queries.append((UpdateStatements.write, writing)) }
                if !used.isEmpty {
                    let parameters = Self.parameters {
                        $0.add(used.map(\.number))
                        $0.add(used.map(\.at))
                    }
                    queries.append((UpdateStatements.use, parameters))
                }
                if !addedTries.isEmpty {
                    let parameters = Self.parameters {
                        $0.add(addedTries.map(\.number))
                        $0.add(addedTries.map(\.new))
                    }
                    queries.append((UpdateStatements.addTries, parameters))
                }
                if !added.isEmpty { queries.append((UpdateStatements.insert, adding)) }
                return queries
            }

            private var writing: Parameters {
                Self.parameters {
                    $0.add(written.map(\.number))
                    $0.add(written.map(\.key.record.details.bytes))
                    $0.add(written.map { Int64(bitPattern: $0.key.record.masterKeyID.rawValue) })
                    $0.add(written.map(\.key.record.content))
                    $0.add(written.map { Int64($0.key.state.rawValue) })
                    $0.add(written.map(\.key.owner))
                    $0.add(written.map(\.key.label))
                }
            }

            private var adding: Parameters {
                Self.parameters { parameters in
                    let records = added.map(\.record)
                    parameters.add(records.map(\.id))
                    parameters.add(records.map(\.createdAt))
                    parameters.add(records.map { Int64($0.details.kind) })
                    parameters.add(records.map(\.details.bytes))
                    parameters.add(records.map { Int64(bitPattern: $0.masterKeyID.rawValue) })
                    parameters.add(records.map(\.content))
                    parameters.add(added.map { Int64($0.state.rawValue) })
                    parameters.add(added.map(\.owner))
                    parameters.add(added.map(\.label))
                    parameters.add(added.map(\.lastUsedAt))
                    parameters.add(added.flatMap { key in key.tries.map { _ in key.record.id } })
                    parameters.add(added.flatMap(\.tries))
                }
            }

            private static func parameters(_ body: (inout Parameters) -> Void) -> Parameters {
                var parameters = Parameters()
                body(&parameters)
                return parameters
            }
        }
    }

    extension Parameters {
        /// Adds three arrays: the tickets, the elements and the times.
        mutating func add(_ tries: [ObliviousKey.Try]) {
            add(tries.map(\.ticket))
            add(tries.map(\.blinded))
            add(tries.map(\.openedAt))
        }
    }
#endif
