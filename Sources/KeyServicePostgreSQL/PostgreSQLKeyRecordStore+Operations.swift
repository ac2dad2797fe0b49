#if PostgreSQL
    public import KeyServiceServer

    extension PostgreSQLKeyRecordStore {
        /// Returns the state that all instances of the service share.
        public func state() async throws -> StoreState {
            let queries = [(StateStatements.state, Parameters()), (StateStatements.masterKeys, Parameters())]
            return try await run(queries) { rows in
                var state = try StateStatements.read(rows[0])
                state.masterKeys = try StateStatements.readMasterKeys(rows[1])
                return state
            }
        }

        /// Changes the limits of wrong guesses. Locked keys stay locked.
        public func setLimits(_ limits: GuessLimits) async throws {
            // Every start of a server calls this, and a change would read the whole table.
            guard try await state().limits != limits else { return }
            var (parameters, limit) = (Parameters(), Parameters())
            parameters.add(Int64(limits.inARow))
            parameters.add(Int64(limits.inAll))
            limit.add(Int64(limits.inARow))
            try await run(
                [
                    (OperatorStatements.lockUsedUp, Parameters()), (OperatorStatements.keepFull, limit),
                    (OperatorStatements.keepOneTry, limit), (OperatorStatements.setLimits, parameters),
                ])
        }

        /// Adds a master key to the list.
        public func addMasterKey(_ masterKey: StoredMasterKey) async throws {
            var parameters = Parameters()
            parameters.add(Int64(bitPattern: masterKey.id.rawValue))
            parameters.add(masterKey.check)
            try await run([(OperatorStatements.addMasterKey, parameters)])
        }

        /// Removes a master key from the list, unless records or the identity are sealed under it.
        public func removeMasterKey(_ id: MasterKeyID) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(Int64(bitPattern: id.rawValue))
            let queries = [
                (OperatorStatements.removeMasterKey, parameters), (OperatorStatements.masterKeyExists, parameters),
            ]
            return try await perform { connection, deadline in
                do {
                    return try connection.run(queries, deadline: deadline)[1].number(0, 0) == 0
                } catch DatabaseFailure.statement("23503", _) {
                    // A server has just sealed a new record or the identity under it.
                    return false
                }
            }
        }

        /// Returns the identity of the service.
        public func identity() async throws -> StoredIdentity? {
            try await run([(IdentityStatements.read, Parameters())]) { rows in
                guard rows[0].count > 0 else { return nil }
                return StoredIdentity(
                    masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try rows[0].number(0, 0))),
                    content: try rows[0].bytes(0, 1))
            }
        }

        /// Replaces the identity of the service.
        public func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(Int64(bitPattern: new.masterKeyID.rawValue))
            parameters.add(new.content)
            guard let old else { return try await run([(IdentityStatements.add, parameters)]) { $0[0].count > 0 } }
            parameters.add(Int64(bitPattern: old.masterKeyID.rawValue))
            parameters.add(old.content)
            return try await run([(IdentityStatements.replace, parameters)]) { $0[0].count > 0 }
        }

        /// Returns the keys after a row, the oldest first.
        public func summaries(after row: Int64?, count: Int) async throws -> [KeyRecordSummary] {
            try await storedKeys(after: row, count: count).map { row, key in
                KeyRecordSummary(
                    row: row, id: key.record.id, createdAt: key.record.createdAt, lastUsedAt: key.lastUsedAt,
                    wrongGuesses: key.count, lock: key.lock, details: key.record.details,
                    masterKeyID: key.record.masterKeyID)
            }
        }

        /// Returns the records after a row that are sealed under another master key, the oldest first.
        public func records(
            notUnder id: MasterKeyID, after row: Int64?, count: Int
        ) async throws -> [(row: Int64, KeyRecord)] {
            var parameters = Self.page(after: row, count: count)
            parameters.add(Int64(bitPattern: id.rawValue))
            return try await run([(OperatorStatements.records, parameters)]) { rows in
                try (0..<rows[0].count).map { try Self.record(rows[0], $0) }
            }
        }

        /// Returns the number of records under each master key.
        public func counts() async throws -> [MasterKeyID: Int] {
            try await run([(OperatorStatements.counts, Parameters())]) { rows in
                var counts: [MasterKeyID: Int] = [:]
                for row in 0..<rows[0].count {
                    let id = MasterKeyID(rawValue: UInt64(bitPattern: try rows[0].number(row, 0)))
                    counts[id] = Int(clamping: try rows[0].number(row, 1))
                }
                return counts
            }
        }

        /// Gives a key all its guesses back, and unlocks it.
        public func unlock(keyID: String) async throws {
            try await change(
                [OperatorStatements.lockLive, OperatorStatements.removeTries, OperatorStatements.unlock], keyID: keyID)
        }

        /// Ends a key for good, but keeps its row.
        public func revoke(keyID: String) async throws {
            let queries = [OperatorStatements.revoke, OperatorStatements.removeEndedTries].map {
                Self.naming(keyID, $0)
            }
            guard try await run(queries, { $0[0].count }) > 0 else { throw KeyServiceServerError.noSuchKey }
        }

        /// Deletes a key for good.
        ///
        /// - Returns: false, because the database's files keep the row until the next VACUUM, and the logs for longer.
        public func delete(keyID: String) async throws -> Bool {
            try await change([OperatorStatements.delete], keyID: keyID)
            return false
        }

        /// Leaves each key at most one guess, deletes unfinished keys, and sets the generation.
        public func acceptRollback(generation: Int64, now: Int64) async throws {
            var (time, number, nobody) = (Parameters(), Parameters(), Parameters())
            time.add(now)
            number.add(generation)
            nobody.add(ObliviousKey.nobodyYet)
            let queries: [Connection.Query] = [
                (OperatorStatements.removeAllUnfinished, Parameters()), (OperatorStatements.lockAllLive, Parameters()),
                (OperatorStatements.keepUnclaimed, nobody), (OperatorStatements.fillTries, time),
                (OperatorStatements.leaveOneGuess, Parameters()), (OperatorStatements.setGeneration, number),
            ]
            try await run(queries, patience: Self.longPatience) { _ in }
        }

        /// Returns the keys of an owner.
        public func keys(ofOwner owner: [UInt8]) async throws -> [StoredKey] {
            var parameters = Parameters()
            parameters.add(owner)
            let queries: [Connection.Query] = [
                (OperatorStatements.ownedKeys, parameters), (OperatorStatements.ownedTries, parameters),
                (StateStatements.state, Parameters()),
            ]
            return try await run(queries) { rows in try Self.storedKeys(rows).map(\.1) }
        }

        /// Deletes unfinished keys, and destroys keys that were locked for too long.
        public func sweep(unfinishedSince: Int64, lockedSince: Int64) async throws -> (deleted: Int, destroyed: Int) {
            var (unfinished, locked) = (Parameters(), Parameters())
            unfinished.add(unfinishedSince)
            locked.add(lockedSince)
            let queries: [Connection.Query] = [
                (OperatorStatements.removeUnfinished, unfinished), (OperatorStatements.lockLockedForLong, locked),
                (OperatorStatements.destroy, locked), (OperatorStatements.removeAllEndedTries, Parameters()),
            ]
            return try await run(queries, patience: Self.longPatience) { ($0[0].count, $0[2].count) }
        }

        /// Ends live keys that nobody claimed.
        public func endUnclaimedKeys(since time: Int64) async throws -> Int {
            var parameters = Parameters()
            parameters.add(ObliviousKey.nobodyYet)
            parameters.add(time)
            let queries: [Connection.Query] = [
                (OperatorStatements.endUnclaimed, parameters), (OperatorStatements.removeAllEndedTries, Parameters()),
            ]
            return try await run(queries, patience: Self.longPatience) { $0[0].count }
        }

        /// Sets the reason why no server may use this store, or takes it away.
        public func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(reason)
            parameters.add(old)
            return try await run([(OperatorStatements.retire, parameters)]) { $0[0].count > 0 }
        }

        /// Returns the keys after a row with all their stored values, the oldest first.
        public func storedKeys(after row: Int64?, count: Int) async throws -> [(row: Int64, StoredKey)] {
            let page = Self.page(after: row, count: count)
            let queries: [Connection.Query] = [
                (OperatorStatements.keys, page), (OperatorStatements.tries, page),
                (StateStatements.state, Parameters()),
            ]
            return try await run(queries, Self.storedKeys)
        }

        /// Reads the rows of keys, of their tries, and of the state.
        @Sendable private static func storedKeys(_ rows: [Rows]) throws -> [(row: Int64, StoredKey)] {
            let tries = try ObliviousRows.tries(rows[1])
            let limits = try StateStatements.read(rows[2]).limits
            return try (0..<rows[0].count).map { index in
                let number = try rows[0].number(index, 0)
                return (number, try storedKey(rows[0], index, tries[number] ?? [], limits))
            }
        }

        private static func storedKey(
            _ rows: Rows, _ row: Int, _ tries: [ObliviousKey.Try], _ limits: GuessLimits
        ) throws -> StoredKey {
            let lastUsedAt = try rows.optionalNumber(row, 13)
            if try rows.number(row, 3) == KeyDetails.obliviousKind {
                return StoredKey(try ObliviousRows.key(rows, row, tries: tries, lastUsedAt: lastUsedAt), limits)
            }
            let locks: [Int64: KeyRecordSummary.Lock] = [1: .locked, 2: .revoked]
            return StoredKey(
                record: try record(rows, row).1, count: try FoundRows.count(rows, row, from: 10),
                lastUsedAt: lastUsedAt, lock: locks[try rows.number(row, 14)])
        }

        /// Puts keys of another store into this one, in one transaction.
        public func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
            guard !keys.isEmpty else { return true }
            var (parameters, ids, tries) = (Parameters(), Parameters(), Parameters())
            parameters.add(keys.map(\.record.id))
            parameters.add(keys.map(\.record.createdAt))
            parameters.add(keys.map { Int64($0.record.details.kind) })
            parameters.add(keys.map(\.record.details.bytes))
            parameters.add(keys.map { Int64(bitPattern: $0.record.masterKeyID.rawValue) })
            parameters.add(keys.map(\.record.content))
            parameters.add(keys.map(Self.state))
            parameters.add(keys.map(\.oblivious?.owner))
            parameters.add(keys.map(\.oblivious?.label))
            // The tries of a key of version 2 are its count.
            parameters.add(keys.map { $0.oblivious == nil ? Int64($0.count.inARow) : 0 })
            parameters.add(keys.map { Int64($0.count.inAll) })
            parameters.add(keys.map { $0.oblivious == nil ? $0.count.lastWrongAt : nil })
            parameters.add(keys.map(\.lastUsedAt))
            // A ``StoredKey`` does not have the time of its lock.
            parameters.add(
                keys.map { key in
                    key.oblivious == nil && key.lock == .locked ? key.count.lastWrongAt ?? key.record.createdAt : nil
                })
            parameters.add(reason)
            ids.add(keys.map(\.record.id))
            ids.add(reason)
            tries.add(keys.flatMap { key in (key.oblivious?.tries ?? []).map { _ in key.record.id } })
            tries.add(keys.flatMap { $0.oblivious?.tries ?? [] })
            tries.add(reason)
            let queries: [Connection.Query] = [
                (OperatorStatements.put, parameters), (OperatorStatements.removePutTries, ids),
                (OperatorStatements.putTries, tries),
            ]
            return try await run(queries) { $0[0].count > 0 }
        }

        /// The value of the column "state".
        private static func state(_ key: StoredKey) -> Int64 {
            if let oblivious = key.oblivious { return Int64(oblivious.state.rawValue) }
            return key.lock == .revoked ? OperatorStatements.revokedState : 0
        }

        /// Deletes a key, if it is there.
        public func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(keyID)
            parameters.add(reason)
            return try await run([(OperatorStatements.deleteRetired, parameters)]) { $0[0].count > 0 }
        }

        // MARK: - Running

        private func run(_ queries: [Connection.Query]) async throws {
            try await run(queries) { _ in }
        }

        private func run<R: Sendable>(
            _ queries: [Connection.Query], patience: Duration = patience,
            _ read: @escaping @Sendable ([Rows]) throws -> R
        ) async throws -> R {
            try await perform(patience: patience) { connection, deadline in
                let rows = try connection.run(queries, deadline: deadline)
                guard rows.count == queries.count else { throw DatabaseFailure.damaged }
                return try read(rows)
            }
        }

        /// Runs statements that name a key.
        ///
        /// - Throws: `noSuchKey` if the last one has no row.
        private func change(_ statements: [Statement], keyID: String) async throws {
            guard try await run(statements.map { Self.naming(keyID, $0) }, { $0.last?.count ?? 0 }) > 0 else {
                throw KeyServiceServerError.noSuchKey
            }
        }

        private static func naming(_ keyID: String, _ statement: Statement) -> Connection.Query {
            var parameters = Parameters()
            parameters.add(keyID)
            return (statement, parameters)
        }

        private static func page(after row: Int64?, count: Int) -> Parameters {
            var parameters = Parameters()
            parameters.add(row ?? .min)
            parameters.add(Int64(count))
            return parameters
        }

        private static func record(_ rows: Rows, _ row: Int) throws -> (row: Int64, KeyRecord) {
            (try rows.number(row, 0), try FoundRows.record(rows, row, from: 2, keyID: rows.text(row, 1)))
        }
    }
#endif
