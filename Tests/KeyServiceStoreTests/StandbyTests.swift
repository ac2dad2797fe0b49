#if PostgreSQL
    import Testing
    import VaultBase

    @testable import KeyServiceCore
    @testable import KeyServicePostgreSQL

    /// Asynchronous standbys that appear while the service runs.
    @Suite struct StandbyTests {
        /// A clock that only the test moves.
        private final class Clock: Sendable {
            private let instant = Lock(ContinuousClock.now)

            var now: ContinuousClock.Instant { instant.withLock { $0 } }

            func advance(by duration: Duration) { instant.withLock { $0 += duration } }
        }

        /// Keeps the last number of standbys, and the warnings about them.
        private final class Reports: KeyServiceObserver {
            private let lastCount = Lock<Int?>(nil)
            private let texts = Lock<[String]>([])

            var count: Int? { lastCount.withLock { $0 } }
            var warnings: [String] { texts.withLock { $0 } }

            func asynchronousStandbys(_ count: Int) { lastCount.withLock { $0 = count } }
            func warn(_ text: String) {
                if text.contains("asynchronous standby") { texts.withLock { $0.append(text) } }
            }

            func committed(changes: Int, duration: Duration) {}
            func argon2RequestBegan() {}
            func argon2RequestEnded() {}
            func checkedIn(at time: Int64) {}
        }

        private let clock = Clock()
        private let reports = Reports()

        @Test func `when a standby stays asynchronous, then guesses end`() async throws {
            let server = try await PrivateServer()
            let database = try server.makeDatabase()
            let (clock, reports) = (clock, reports)
            let store = try await PostgreSQLKeyRecordStore.open(
                url: database.url, purpose: .create, lanes: 1, observer: reports, warn: { reports.warn($0) },
                now: { clock.now })
            defer { store.close() }
            let test = TestStore(store: store)
            let record = try await test.prepared()
            @Sendable func checkIn() async throws {
                _ = try await store.checkIn(
                    ServerCheckIn(server: 1, time: TestStore.now, masterKeys: []), deadline: .now + .seconds(20))
            }
            try await checkIn()
            #expect(reports.count == 0)

            let standby = try await PrivateServer(standbyOf: server)
            defer { withExtendedLifetime(standby) {} }
            while try database.run("SELECT count(replay_lsn) FROM pg_stat_replication") != "1" {}
            try await checkIn()
            clock.advance(by: StandbyWatch.limit - .seconds(1))
            try await checkIn()
            #expect(reports.count == 1)
            #expect(reports.warnings.count == 1)
            #expect(try await test.find(record) == "found 0/0")
            let start = await #expect(throws: KeyServiceServerError.self) {
                try await PostgreSQLKeyRecordStore.open(url: database.url, purpose: .serve)
            }
            #expect(start?.remedy == .allowAsynchronousStandby, "at a start it is refused at once")

            clock.advance(by: .seconds(1))
            let generation = try await store.state().generation
            let refusal = await #expect(throws: KeyServiceServerError.self) { try await checkIn() }
            #expect(refusal?.code == .configurationInvalid)
            #expect(refusal?.remedy == .allowAsynchronousStandby)
            #expect(try await test.find(record) == "busy")
            #expect(try await test.guess(record) == "busy")
            #expect(try await store.state().generation == generation, "a rollback would be noticed later")

            try database.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try database.run("SELECT pg_reload_conf()")
            while (try? await checkIn()) == nil {}
            #expect(reports.count == 0)
            #expect(try await test.guess(record) == "found 0/0")
        }

        // MARK: - The ten minutes

        private func watch() -> StandbyWatch {
            let (clock, reports) = (clock, reports)
            return StandbyWatch(observer: reports, warn: { reports.warn($0) }, now: { clock.now })
        }

        private func check(_ standbys: Int, timeline: String = "00000001") -> ReplicationCheck {
            ReplicationCheck(asynchronousStandbys: standbys, isBlind: false, timeline: timeline, warnings: [])
        }

        @Test func `when a standby was away briefly, then its time continues`() throws {
            let watch = watch()
            for _ in 1...4 {
                try watch.note(check(1))
                clock.advance(by: .seconds(100))
                try watch.note(check(0))
                clock.advance(by: .seconds(50))
            }
            #expect(watch.refusal == nil, "nobody is there now")
            #expect(throws: DatabaseFailure.self) { try watch.note(check(1)) }
            #expect(watch.refusal?.code == .busy)
            #expect(reports.warnings.count == 1)
        }

        @Test func `when a standby was away long, then its time restarts`() throws {
            let watch = watch()
            for _ in 1...2 {
                try watch.note(check(1))
                clock.advance(by: .seconds(599))
                try watch.note(check(1))
                try watch.note(check(0))
                clock.advance(by: .seconds(600))
            }
            #expect(reports.warnings.count == 2)
        }

        @Test func `when a standby is promoted, then the time restarts`() throws {
            let watch = watch()
            try watch.note(check(1))
            clock.advance(by: .seconds(600))
            #expect(throws: DatabaseFailure.self) { try watch.note(check(1)) }
            try watch.note(check(1, timeline: "00000002"))
            #expect(watch.refusal == nil)
            clock.advance(by: .seconds(600))
            #expect(throws: DatabaseFailure.self) { try watch.note(check(1, timeline: "00000002")) }
        }

        @Test func `when nobody checks for long, then its time continues`() throws {
            let watch = watch()
            try watch.note(check(1))
            clock.advance(by: .seconds(3600))
            #expect(watch.refusal?.code == .busy)
            #expect(throws: DatabaseFailure.self) { try watch.note(check(1)) }
        }
    }
#endif
