#if PostgreSQL
    import Foundation
    import Testing
    import VaultBase

    @testable import KeyServicePostgreSQL
    @testable import KeyServiceCore

    /// What only the store in PostgreSQL does.
    @Suite struct PostgreSQLStoreTests {
        private static func open(
            _ url: String, _ purpose: PostgreSQLKeyRecordStore.Purpose = .create, lanes: Int = 1
        ) async throws -> PostgreSQLKeyRecordStore {
            try await PostgreSQLKeyRecordStore.open(url: url, purpose: purpose, lanes: lanes)
        }

        private func expectRefusal(
            _ code: KeyServiceServerError.Code, saying word: String, remedy: Remedy? = nil,
            sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
        ) async {
            let error = await #expect(throws: KeyServiceServerError.self, sourceLocation: sourceLocation) {
                try await body()
            }
            #expect(error?.code == code, sourceLocation: sourceLocation)
            #expect(error?.description.contains(word) == true, sourceLocation: sourceLocation)
            #expect(error?.remedy == remedy, sourceLocation: sourceLocation)
        }

        @Test(arguments: [
            "postgresql://me:hunter2@localhost/vault", "postgresql://me@localhost/vault?password=hunter2",
            "postgresql://me@localhost/vault?sslpassword=hunter2",
        ]) func `when the address contains a password, then it is refused`(url: String) async {
            await expectRefusal(.configurationInvalid, saying: "passfile") {
                _ = try DatabaseURL(url, environment: [:])
            }
            let error = #expect(throws: KeyServiceServerError.self) { try DatabaseURL(url, environment: [:]) }
            #expect(error?.description.contains("hunter2") == false)
        }

        @Test func `when the environment contains a password, then it is refused`() async {
            await expectRefusal(.configurationInvalid, saying: "PGPASSWORD") {
                _ = try DatabaseURL("postgresql://me@localhost/vault", environment: ["PGPASSWORD": "x"])
            }
        }

        @Test(arguments: [
            "host=localhost password=hunter2", "postgresql://me@/vault?nonsense=hunter2", "", "mysql://x/",
        ])
        func `when the address is invalid, then it is refused`(url: String) async {
            await expectRefusal(.configurationInvalid, saying: "not valid") {
                _ = try DatabaseURL(url, environment: [:])
            }
        }

        @Test(arguments: ["disable", "prefer", "require"])
        func `when a server is remote, then verify-full is required`(mode: String) async throws {
            await expectRefusal(.configurationInvalid, saying: "verify-full") {
                _ = try DatabaseURL("postgresql://me@db1.example/vault?sslmode=\(mode)", environment: [:])
            }
            let url = try DatabaseURL("postgresql://me@db1.example,127.0.0.1/vault", environment: [:])
            let modes = url.servers.map { server in server.parameters.first { $0.name == "sslmode" }?.value }
            #expect(modes == ["verify-full", nil])
        }

        @Test(arguments: [
            ("postgresql:///?service=prod", [:]), ("postgresql:///vault", ["PGSERVICE": "prod"]),
            ("postgresql:///vault", ["PGSERVICEFILE": "/tmp/services"]),
            ("postgresql://me@localhost/vault", ["PGHOSTADDR": "192.0.2.1"]),
        ])
        func `when settings name another server, then the address is refused`(
            url: String, environment: [String: String]
        ) async {
            await expectRefusal(.configurationInvalid, saying: "into that address", remedy: .correctDatabase) {
                _ = try DatabaseURL(url, environment: environment)
            }
        }

        @Test(arguments: [
            ("postgresql:///vault", ["PGHOST": "/tmp,db1.example"]), ("postgresql:///vault", ["PGHOST": "db1.example"]),
            ("postgresql://db1.example/vault?hostaddr=192.0.2.1", [:]),
            ("postgresql://db1.example,db2.example/vault?hostaddr=,127.0.0.1", [:]),
            ("postgresql://me@db1.example/vault?gssencmode=require", [:]),
        ])
        func `when a remote server looks local, then verify-full applies`(
            url: String, environment: [String: String]
        ) throws {
            let server = try #require(try DatabaseURL(url, environment: environment).servers.first)
            let values = Dictionary(uniqueKeysWithValues: server.parameters.map { ($0.name, $0.value) })
            #expect(values["sslmode"] == "verify-full")
            #expect(values["gssencmode"] == "disable")
        }

        @Test func `when the user or database is wrong, then opening fails`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            for url in [
                database.url.replacingOccurrences(of: "//postgres@", with: "//nobody@"),
                database.url.replacingOccurrences(of: "@/vault_", with: "@/no_"),
            ] {
                await expectRefusal(.configurationInvalid, saying: "pg_hba.conf", remedy: .correctDatabase) {
                    _ = try await Self.open(url)
                }
            }
        }

        @Test(arguments: [
            (#"connection to server at "db1", port 5432 failed: FATAL:  28P01: password authentication failed"#, true),
            (#"connection to server at "db1", port 5432 failed: FATAL:  3D000: database "x" does not exist"#, true),
            (
                #"connection to server at "db1", port 5432 failed: server does not support SSL, but SSL was required"#,
                true
            ),
            (#"connection to server at "db1", port 5432 failed: SSL error: certificate verify failed"#, true),
            (
                #"connection to server at "::1", port 1 failed: refused\nconnection to server failed: FATAL:  28000: x"#,
                true
            ),
            (#"connection to server at "certificate", port 5432 failed: Connection refused"#, false),
            (
                #"connection to server at "db1", port 5432 failed: FATAL:  57P03: the database system is starting up"#,
                false
            ),
            (#"connection to server at "db1", port 5432 failed: SSL SYSCALL error: EOF detected"#, false),
        ]) func `when a connection fails, then only rejections are final`(message: String, isRejected: Bool) {
            let failure = DatabaseFailure.connecting(message.replacingOccurrences(of: "\\n", with: "\n"))
            if case .rejected = failure { #expect(isRejected) } else { #expect(!isRejected) }
        }

        @Test func `when a later connection is rejected, then the store recovers`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let role = "guest_\(UUID().uuidString.prefix(6).lowercased())"
            try await Self.open(database.url).close()
            try database.run("CREATE ROLE \(role) LOGIN SUPERUSER")
            let url = database.url.replacingOccurrences(of: "//postgres@", with: "//\(role)@")
            let store = try await Self.open(url, .serve)
            try database.run("ALTER ROLE \(role) NOLOGIN")
            let result = await store.commit(
                [GuessCall.find("x").update], lane: 0, deadline: .now + .milliseconds(300))
            let error = #expect(throws: KeyServiceServerError.self) { try result[0].get() }
            #expect(error?.code == .busy)
            try database.run("ALTER ROLE \(role) LOGIN")
            #expect(try await TestStore(store: store).run(.find("x")) == "no such key")
        }

        @Test func `when an address names servers, then each keeps its port`() throws {
            let url = try DatabaseURL("postgresql://me@localhost:1,127.0.0.1:2/vault", environment: [:])
            #expect(url.servers.map(\.name) == ["localhost", "127.0.0.1"])
            #expect(
                url.servers.map { server in server.parameters.first { $0.name == "port" }?.value } == ["1", "2"])
        }

        @Test func `when tables are missing, then serving makes none`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            for purpose in [PostgreSQLKeyRecordStore.Purpose.serve, .operate] {
                await expectRefusal(.configurationInvalid, saying: "no tables", remedy: .makeTables) {
                    _ = try await Self.open(database.url, purpose)
                }
            }
            #expect(try database.run("SELECT count(*) FROM pg_namespace WHERE nspname = 'key_service'") == "0")
        }

        @Test func `when the schema is newer, then it is left alone`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            try await Self.open(database.url).close()
            try database.run("UPDATE key_service.schema_version SET version = 99")
            await expectRefusal(.storeTooNew, saying: "newer version") { _ = try await Self.open(database.url) }
            #expect(try database.run("SELECT version FROM key_service.schema_version") == "99")
        }

        @Test func `when several calls make tables, then all succeed`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...6 { group.addTask { try await Self.open(database.url).close() } }
                try await group.waitForAll()
            }
            #expect(try database.run("SELECT count(*) FROM key_service.service") == "1")
        }

        @Test func `when a role owns no table, then it can serve`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            try await Self.open(database.url).close()
            let role = "clerk_\(UUID().uuidString.prefix(6).lowercased())"
            try database.run(
                """
                CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA key_service TO \(role);
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA key_service TO \(role)
                """)
            let url = database.url.replacingOccurrences(of: "//postgres@", with: "//\(role)@")
            let test = TestStore(store: try await Self.open(url, .serve))
            _ = try await test.charge(test.prepared())
        }

        @Test func `when two instances get guesses, then three are evaluated`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let instances = [
                TestStore(store: try await Self.open(database.url)),
                TestStore(store: try await Self.open(database.url)),
            ]
            let record = try await instances[0].prepared()
            let evaluated = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    let test = instances[number % 2]
                    group.addTask { try await Self.guessWrong(record, test) ? 1 : 0 }
                }
                return try await group.reduce(0, +)
            }
            #expect(evaluated == 3)
            #expect(try await instances[0].summary(record.id).wrongGuesses.inAll == evaluated)
        }

        /// - Returns: whether the guess was evaluated.
        private static func guessWrong(_ record: KeyRecord, _ test: TestStore) async throws -> Bool {
            let ticket = StoredKey.newTicket()
            guard try await test.run(.charge(record.id, ticket)).hasPrefix("found") else { return false }
            #expect(try await test.run(.settle(record.id, ticket, .wrong)) == "done")
            return true
        }

        @Test func `when connections are cut, then new ones are made`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let test = TestStore(store: try await Self.open(database.url))
            let record = try await test.prepared()
            for _ in 1...3 {
                try database.run(
                    """
                    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                    """)
                let (ticket, _) = try await test.charge(record)
                #expect(try await test.run(.settle(record.id, ticket, .right(time: 1, forgetting: []))) == "done")
            }
        }

        @Test func `when a repeated charge fails, then its outcome is unknown`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let role = "guest_\(UUID().uuidString.prefix(6).lowercased())"
            let record = try await TestStore(store: try await Self.open(database.url)).prepared()
            try database.run("CREATE ROLE \(role) LOGIN SUPERUSER")
            let url = database.url.replacingOccurrences(of: "//postgres@", with: "//\(role)@")
            let store = try await Self.open(url, .serve)
            let blocker = try database.begin("LOCK TABLE key_service.key_record IN EXCLUSIVE MODE")
            async let results = store.commit(
                [GuessCall.charge(record.id, StoredKey.newTicket()).update], lane: 0, deadline: .now + .seconds(20))
            let waiting = "FROM pg_stat_activity WHERE usename = '\(role)' AND wait_event_type = 'Lock'"
            while try database.run("SELECT count(*) \(waiting)") != "1" {}
            // The second attempt finds no server that lets it in.
            try database.run("ALTER ROLE \(role) NOLOGIN")
            try database.run("SELECT pg_terminate_backend(pid, 10000) \(waiting)")
            try blocker.end()
            let outcome = await results[0]
            let error = #expect(throws: KeyServiceServerError.self) { try outcome.get() }
            #expect(error?.isOutcomeUnknown == true, "so the charge is taken back")
        }

        @Test func `when the deadline passes, then a waiting charge is abandoned`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let test = TestStore(store: try await Self.open(database.url))
            let record = try await test.prepared()
            // Somebody else holds the table: the statement waits until it is cancelled.
            let blocker = try database.begin("LOCK TABLE key_service.key_record IN ACCESS EXCLUSIVE MODE")
            let charge = GuessCall.charge(record.id, StoredKey.newTicket())
            let result = await test.store.commit([charge.update], lane: 0, deadline: .now + .milliseconds(200))
            let error = #expect(throws: KeyServiceServerError.self) { try result[0].get() }
            #expect(error?.code == .busy)
            try blocker.end()
            #expect(try await test.find(record) == "found 0/0", "nothing was counted")
        }

        @Test func `when no standby confirms a charge, then it fails`() async throws {
            let server = try await PrivateServer()
            let database = try server.makeDatabase()
            let test = TestStore(store: try await Self.open(database.url))
            let (record, other) = (try await test.prepared(), TestStore.record())
            func setStandby(_ name: String) throws {
                try database.run("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
                try database.run("SELECT pg_reload_conf()")
                while try database.run("SHOW synchronous_standby_names") != name {}
            }
            // The server waits for a standby that does not exist. Cancelled, it commits and only warns.
            try setStandby("nobody")
            let ticket = StoredKey.newTicket()
            let updates = [GuessCall.charge(record.id, ticket).update, GuessCall.insert(other).update]
            for result in await test.store.commit(updates, lane: 0, deadline: .now + .milliseconds(300)) {
                let error = #expect(throws: KeyServiceServerError.self) { try result.get() }
                #expect(error?.code == .busy)
            }
            #expect(try database.run("SELECT wrong_in_all FROM key_service.key_record WHERE number = 1") == "1")
            // The same record again is not "done" as long as no standby has it.
            let again = await test.store.commit(
                [GuessCall.insert(other).update], lane: 0, deadline: .now + .milliseconds(300))
            #expect(throws: KeyServiceServerError.self) { try again[0].get() }
            try setStandby("")
            #expect(try await test.run(.insert(other)) == "done")
            #expect(try await test.run(.settle(record.id, ticket, .unused)) == "done")
            #expect(try await test.find(record) == "found 0/0")
        }

        @Test func `when requests are refused, then they neither write nor wait`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let test = TestStore(store: try await Self.open(database.url))
            let record = try await test.prepared()
            let blocker = try database.begin("UPDATE key_service.key_record SET version = version")
            let results = await test.commit(
                KeyUpdate(record.id) { _, _ in throw KeyServiceServerError.noSuchKey },
                GuessCall.find(record.id).update)
            #expect(throws: KeyServiceServerError.self) { try results[0].get() }
            try results[1].get()
            try blocker.end()
            #expect(try database.run("SELECT version FROM key_service.key_record") == "0")
        }

        @Test func `when another instance interferes, then the update runs again`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let test = TestStore(store: try await Self.open(database.url))
            let record = try await test.prepared()
            let runs = Lock(0)
            try await test.commit(
                KeyUpdate(record.id) { key, _ in
                    let run = runs.withLock { runs in
                        runs += 1
                        return runs
                    }
                    // The change of another instance, after the key was read.
                    if run == 1 {
                        try database.run(
                            "UPDATE key_service.key_record SET version = version + 1, wrong_in_all = 40")
                    }
                    key?.wrongInAll += 1
                })[0].get()
            #expect(try await test.key(record.id).wrongInAll == 41)
            #expect(runs.withLock { $0 } == 2)
        }

        @Test func `when one record is damaged, then the others still work`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let test = TestStore(store: try await Self.open(database.url))
            let (good, bad) = (try await test.prepared(), TestStore.record())
            try await test.run(.insert(bad))
            try database.run("UPDATE key_service.key_record SET kind = 77 WHERE id = '\(bad.id)'")
            let answers = try await test.runAll(
                .find(bad.id), .charge(bad.id, StoredKey.newTicket()), .find(good.id))
            #expect(answers == ["store_unusable", "store_unusable", "found 0/0"])
        }

        @Test func `when a server crashed, then it counts for a minute`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let store = try await Self.open(database.url)
            let masterKeys = [MasterKeyID(rawValue: 7), MasterKeyID(rawValue: .max)]
            func checkIn(_ server: Int64, isLast: Bool = false) async throws {
                _ = try await store.checkIn(
                    ServerCheckIn(server: server, time: 5, masterKeys: masterKeys, isLast: isLast),
                    deadline: .now + .seconds(20))
            }
            for server in [Int64.min, 2] { try await checkIn(server) }
            #expect(try await store.masterKeysOfServers() == [masterKeys, masterKeys])
            let age = "UPDATE key_service.running_server SET checked_in_at = checked_in_at - "
            try database.run(age + "90 WHERE number <> 2")
            #expect(try await store.masterKeysOfServers() == [masterKeys])
            try database.run(age + "90000")
            #expect(try await store.masterKeysOfServers().isEmpty)
            // A server that ends also removes what others left long ago.
            try await checkIn(2, isLast: true)
            #expect(try database.run("SELECT count(*) FROM key_service.running_server") == "0")
        }

        @Test func `when the store is closed, then calls fail`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let store = try await Self.open(database.url)
            store.close()
            await #expect(throws: KeyServiceServerError.self) { try await store.state() }
            let outcomes = await store.commit([GuessCall.find("x").update], lane: 0, deadline: .now + .seconds(5))
            #expect(throws: KeyServiceServerError.self) { try outcomes[0].get() }
        }
    }
#endif
