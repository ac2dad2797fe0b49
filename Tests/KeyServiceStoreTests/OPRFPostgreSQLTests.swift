#if PostgreSQL
    import Testing

    @testable import KeyServicePostgreSQL
    @testable import KeyServiceCore

    /// Keys of the protocol's version 2 in a database that fails.
    @Suite struct OPRFPostgreSQLTests {
        private typealias Key = OPRFTestKey

        private static func open(_ database: PrivateServer.Database) async throws -> TestStore {
            TestStore(store: try await PostgreSQLKeyRecordStore.open(url: database.url, purpose: .create, lanes: 1))
        }

        /// Runs SQL until it has this answer.
        private static func wait(_ database: PrivateServer.Database, for answer: String, _ sql: String) throws {
            while try database.run(sql) != answer {}
        }

        @Test func `when the connection is cut, then the update runs again`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let key = try await Key.live(try await Self.open(database))
            let one = Key.newGuess()
            let others = """
                FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                    AND application_name <> 'psql' AND wait_event_type = 'Lock'
                """
            let blocker = try database.begin("LOCK TABLE key_service.key_record IN EXCLUSIVE MODE")
            async let answer = key.evaluate(one.blinded, ticket: one.ticket)
            try Self.wait(database, for: "1", "SELECT count(*) \(others)")
            try database.run("SELECT pg_terminate_backend(pid, 10000) \(others)")
            try blocker.end()
            #expect(try await answer == .tried(ticket: one.ticket, open: 1))
            #expect(try await key.stored()?.guesses == [one])
        }

        @Test func `when the deadline passes, then a waiting update is abandoned`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let key = try await Key.live(try await Self.open(database))
            let blocker = try database.begin("LOCK TABLE key_service.key_record IN EXCLUSIVE MODE")
            let change = Key.update(key.id, into: Key.LastAnswer(), Key.evaluation(Key.random(32)))
            let result = await key.test.store.commit([change], lane: 0, deadline: .now + .milliseconds(200))
            let error = #expect(throws: KeyServiceServerError.self) { try result[0].get() }
            #expect(error?.code == .busy)
            #expect(
                try database.run(
                    """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                        AND state LIKE 'idle in transaction%' AND application_name <> 'psql'
                    """) == "0", "nobody holds the key")
            try blocker.end()
            #expect(try await key.stored()?.guesses.isEmpty == true, "nothing was written")
            #expect(try await key.evaluate() != .unauthorized)
        }

        @Test func `when a transaction fails, then the connection stays usable`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let key = try await Key.live(try await Self.open(database))
            let backends = """
                SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """
            let before = try database.run(backends)
            let bad = Key(key.test, masterKeyID: MasterKeyID(rawValue: 9))
            for _ in 1...3 {
                let change = Key.update(bad.id, mayAdd: true, into: Key.LastAnswer(), bad.creation)
                let results = await key.test.commit(change)
                #expect(throws: KeyServiceServerError.self) { try results[0].get() }
                #expect(try await key.stored()?.state == .live)
            }
            #expect(try database.run(backends) == before)
        }

        @Test func `when no standby confirms, then the guess stays unanswered`() async throws {
            let server = try await PrivateServer()
            let database = try server.makeDatabase()
            let key = try await Key.live(try await Self.open(database))
            func setStandby(_ name: String) throws {
                try database.run("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
                try database.run("SELECT pg_reload_conf()")
                try Self.wait(database, for: name, "SHOW synchronous_standby_names")
            }
            try setStandby("nobody")
            let one = Key.newGuess()
            for _ in 1...2 {
                // The second call finds the guess, and changes nothing.
                let change = Key.update(
                    key.id, into: Key.LastAnswer(), Key.evaluation(one.blinded, ticket: one.ticket))
                let result = await key.test.store.commit([change], lane: 0, deadline: .now + .milliseconds(300))
                let error = #expect(throws: KeyServiceServerError.self) { try result[0].get() }
                #expect(error?.code == .busy && error?.isOutcomeUnknown == true)
                #expect(
                    try database.run("SELECT length(guesses) FROM key_service.key_record") == "\(StoredGuesses.size)")
            }
            // The connection of a commit that waits is cut: nobody knows whether it happened.
            let two = Key.newGuess()
            async let lost = key.test.store.commit(
                [Key.update(key.id, into: Key.LastAnswer(), Key.evaluation(two.blinded, ticket: two.ticket))], lane: 0,
                deadline: .now + .seconds(30))
            let waiting = """
                FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
                    AND pid <> pg_backend_pid()
                """
            try Self.wait(database, for: "1", "SELECT count(*) \(waiting)")
            try database.run("SELECT pg_terminate_backend(pid, 10000) \(waiting)")
            try setStandby("")
            try await lost[0].get()  // It ran again.
            #expect(try await key.evaluate(two.blinded) == .tried(ticket: two.ticket, open: 2))
        }
    }
#endif
