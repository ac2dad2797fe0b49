#if PostgreSQL
    package import KeyServiceCore

    extension PostgreSQLKeyRecordStore {
        /// Returns the state that all instances of the service share.
        package func state() async throws -> StoreState {
            let queries = [(StateStatements.state, Parameters()), (StateStatements.masterKeys, Parameters())]
            return try await run(queries) { rows in
                var state = try StateStatements.read(rows[0])
                state.masterKeys = try StateStatements.readMasterKeys(rows[1])
                return state
            }
        }

        /// Writes the limits of wrong guesses.
        package func write(limits: GuessLimits) async throws {
            var parameters = Parameters()
            parameters.add(Int64(limits.inARow))
            parameters.add(Int64(limits.inAll))
            try await run([(OperatorStatements.setLimits, parameters)])
        }

        package func write(clock: StoreClock) async throws {
            var parameters = Parameters()
            parameters.add(clock.checkedInAt)
            parameters.add(clock.steadySince)
            try await run([(OperatorStatements.setClock, parameters)])
        }

        package func write(generation: Int64) async throws {
            var parameters = Parameters()
            parameters.add(generation)
            try await run([(OperatorStatements.setGeneration, parameters)])
        }

        package func addMasterKey(_ masterKey: StoredMasterKey) async throws {
            var parameters = Parameters()
            parameters.add(Int64(bitPattern: masterKey.id.rawValue))
            parameters.add(masterKey.check)
            try await run([(OperatorStatements.addMasterKey, parameters)])
        }

        /// Removes a master key from the list, unless records or the identity are sealed under it.
        package func removeMasterKey(_ id: MasterKeyID) async throws -> Bool {
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

        /// Returns the master keys of each server that checked in within the last minute.
        package func masterKeysOfServers() async throws -> [[MasterKeyID]] {
            try await run([(StateStatements.servers, Parameters())]) { rows in
                try (0..<rows[0].count).map { StoredMasterKeyIDs.read(try rows[0].bytes($0, 0)) }
            }
        }

        /// Returns the identity of the service.
        package func identity() async throws -> StoredIdentity? {
            try await run([(IdentityStatements.read, Parameters())]) { rows in
                guard rows[0].count > 0 else { return nil }
                return StoredIdentity(
                    masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try rows[0].number(0, 0))),
                    content: try rows[0].bytes(0, 1))
            }
        }

        /// Replaces the identity of the service.
        package func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(Int64(bitPattern: new.masterKeyID.rawValue))
            parameters.add(new.content)
            guard let old else { return try await run([(IdentityStatements.add, parameters)]) { $0[0].count > 0 } }
            parameters.add(Int64(bitPattern: old.masterKeyID.rawValue))
            parameters.add(old.content)
            return try await run([(IdentityStatements.replace, parameters)]) { $0[0].count > 0 }
        }

        package func auditLogs() async throws -> [[UInt8]] {
            try await run([(AuditLogStatements.all, Parameters())]) { rows in
                try (0..<rows[0].count).map { try rows[0].bytes($0, 0) }
            }
        }

        package func addAuditLog(_ id: [UInt8]) async throws {
            var parameters = Parameters()
            parameters.add(id)
            try await run([(AuditLogStatements.add, parameters)])
        }

        /// Returns a page of keys, the oldest first.
        package func page(after row: Int64?, count: Int, of selection: KeySelection) async throws -> KeyPage {
            var parameters = Parameters()
            parameters.add(row ?? .min)
            parameters.add(Int64(count))
            if case .notUnder(let id) = selection {
                parameters.add(Int64(bitPattern: id.rawValue))
            } else {
                parameters.add(nil as Int64?)
            }
            parameters.add(selection == .unsettled ? 1 : 0)
            return try await run([(KeyStatements.page, parameters)]) { rows in
                var page = try KeyRows.page(rows[0])
                page.last = try rows[0].optionalNumber(0, 15)
                return page
            }
        }

        package func keys(ofOwner owner: [UInt8]) async throws -> KeyPage {
            var parameters = Parameters()
            parameters.add(owner)
            return try await run([(KeyStatements.owned, parameters)]) { try KeyRows.page($0[0]) }
        }

        /// Returns the number of records under each master key.
        package func counts() async throws -> [MasterKeyID: Int] {
            try await run([(OperatorStatements.counts, Parameters())]) { rows in
                var counts: [MasterKeyID: Int] = [:]
                for row in 0..<rows[0].count {
                    let id = MasterKeyID(rawValue: UInt64(bitPattern: try rows[0].number(row, 0)))
                    counts[id] = Int(clamping: try rows[0].number(row, 1))
                }
                return counts
            }
        }

        /// Deletes a key for good.
        package func remove(keyID: String) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(keyID)
            return try await run([(OperatorStatements.delete, parameters)]) { $0[0].count > 0 }
        }

        /// Returns false, because the database's files keep old rows until the next VACUUM, and the logs for longer.
        package func eraseOldCopies() async throws -> Bool { false }

        /// Sets the reason why no server may use this store, or takes it away.
        package func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
            var parameters = Parameters()
            parameters.add(reason)
            parameters.add(old)
            return try await run([(OperatorStatements.retire, parameters)]) { $0[0].count > 0 }
        }

        /// Puts keys of another store into this one, in one transaction.
        package func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
            guard !keys.isEmpty else { return true }
            var parameters = Parameters()
            parameters.add(keys)
            parameters.add(reason)
            return try await run([(KeyStatements.put, parameters)]) { $0[0].count > 0 }
        }

        package func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
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
            _ queries: [Connection.Query], _ read: @escaping @Sendable ([Rows]) throws -> R
        ) async throws -> R {
            try await perform { connection, deadline in
                let rows = try connection.run(queries, deadline: deadline)
                guard rows.count == queries.count else { throw DatabaseFailure.damaged }
                return try read(rows)
            }
        }
    }
#endif
