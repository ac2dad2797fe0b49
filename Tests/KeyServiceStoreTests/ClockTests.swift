import Foundation
import Testing
import VaultBase

@testable import KeyServiceCore

#if PostgreSQL
    import KeyServicePostgreSQL
#endif

/// Wrong clocks: nothing may be erased by them.
@Suite struct ClockTests {
    private static let now = TestStore.now
    private static let (hour, day, year): (Int64, Int64, Int64) = (3600, 86400, 365 * 86400)
    /// The stores that take the time from their server.
    static let kinds: [StoreKind] = [.memory, .sqlite]

    /// A wall clock, and a clock that nobody can set.
    private final class Clocks: Sendable {
        private let values = Lock((time: ClockTests.now, instant: ContinuousClock.now))

        var time: Int64 { values.withLock { $0.time } }
        var instant: ContinuousClock.Instant { values.withLock { $0.instant } }

        /// Sets only the wall clock.
        func set(by seconds: Int64) { values.withLock { $0.time += seconds } }

        func pass(_ seconds: Int64) {
            values.withLock { values in
                values.time += seconds
                values.instant += .seconds(seconds)
            }
        }
    }

    /// Starts a server.
    private static func start(_ store: any KeyRecordStore, _ clocks: Clocks) async throws -> StoreWatch {
        let watch = StoreWatch(
            commits: GroupCommit(store: store), masterKeys: MasterKeys(try .random()), mark: nil,
            now: { clocks.time }, instant: { clocks.instant })
        try await watch.checkIn()
        return watch
    }

    private static func expectUncertain(
        _ watch: StoreWatch, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: KeyServiceServerError.self, sourceLocation: sourceLocation) {
            try await watch.timeForErasing()
        }
        #expect(error?.code == .clockUncertain, sourceLocation: sourceLocation)
        #expect(error?.remedy == .checkClock, sourceLocation: sourceLocation)
    }

    @Test(arguments: kinds)
    func `when a server restarts soon, then its clock is certain`(kind: StoreKind) async throws {
        let (test, clocks) = (try await kind.make(), Clocks())
        #expect(try await Self.start(test.store, clocks).timeForErasing() == Self.now, "a new store")
        clocks.pass(Self.day)
        let watch = try await Self.start(test.store, clocks)
        #expect(try await watch.timeForErasing() == Self.now + Self.day)
        clocks.pass(10 * Self.hour)
        #expect(try await watch.timeForErasing() == Self.now + 34 * Self.hour)
        // Clocks are corrected by a few seconds all the time.
        clocks.set(by: -2)
        #expect(try await watch.timeForErasing() == Self.now + 34 * Self.hour - 2)
    }

    @Test(arguments: kinds)
    func `when the clock jumps between runs, then erasing waits`(kind: StoreKind) async throws {
        let (test, clocks) = (try await kind.make(), Clocks())
        _ = try await Self.start(test.store, clocks)
        for jump in [5 * Self.year, -5 * Self.year] {
            clocks.set(by: jump)
            // The second start finds the new time in the store. That makes this time no better.
            for _ in 1...2 { await Self.expectUncertain(try await Self.start(test.store, clocks)) }
            let stored = try await test.store.state().clock
            #expect(stored == StoreClock(checkedInAt: clocks.time, steadySince: clocks.time))
        }
    }

    @Test(arguments: kinds)
    func `when a server stands still for long, then erasing resumes`(kind: StoreKind) async throws {
        let (test, clocks) = (try await kind.make(), Clocks())
        _ = try await Self.start(test.store, clocks)
        clocks.pass(7 * Self.day)
        let watch = try await Self.start(test.store, clocks)
        for _ in 1...3 {
            await Self.expectUncertain(watch)
            clocks.pass(Self.day)
        }
        #expect(try await watch.timeForErasing() == Self.now + 10 * Self.day)
    }

    @Test(arguments: kinds)
    func `when a running server's clock is set, then erasing waits`(kind: StoreKind) async throws {
        let (test, clocks) = (try await kind.make(), Clocks())
        let watch = try await Self.start(test.store, clocks)
        // The store alone would not notice two hours.
        clocks.set(by: 2 * Self.hour)
        await Self.expectUncertain(watch)
        await Self.expectUncertain(try await Self.start(test.store, clocks))
    }

    @Test func `when a check-in fails, then its jump is told later`() {
        let (first, later) = (ContinuousClock.now, ContinuousClock.now + .seconds(20))
        let time = Self.now + 20 + Self.hour
        var jumps = ClockJumps()
        var seen = [jumps.look(at: Self.now, first)]
        // No check-in succeeds between these two.
        seen += [jumps.look(at: time, later), jumps.look(at: time, later)]
        jumps.told()
        seen.append(jumps.look(at: time, later))
        #expect(seen == [false, true, true, false])
    }

    @Test func `when a clock goes wrong slowly, then it shows`() {
        let start = ContinuousClock.now
        var jumps = ClockJumps()
        let seen = (0...3).map { jumps.look(at: Self.now + Int64($0) * (20 + 200), start + .seconds(20 * $0)) }
        #expect(seen == [false, false, true, true])
    }

    @Test(arguments: [Int64.min, .max])
    func `when stored times are damaged, then nothing traps`(time: Int64) {
        #expect(throws: KeyServiceServerError.self) {
            try StoreClock(checkedInAt: time, steadySince: 0).requireSteady(at: Self.now)
        }
        _ = try? StoreClock(checkedInAt: Self.now, steadySince: time).requireSteady(at: Self.now)
        var jumps = ClockJumps()
        let seen = [jumps.look(at: Self.now, .now), jumps.look(at: time, .now)]
        #expect(seen == [false, true])
    }

    #if PostgreSQL
        @Test func `when the database's clock differs, then erasing waits`() async throws {
            let database = try await PrivateServer.shared.makeDatabase()
            let store = try await PostgreSQLKeyRecordStore.open(url: database.url, purpose: .create, lanes: 1)
            let real: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
            let ahead = try Self.watch(store, now: { real() + 5 * Self.year })
            let right = try Self.watch(store, now: real)
            for _ in 1...2 { await Self.expectUncertain(ahead) }
            _ = try await right.timeForErasing()
            try database.run("UPDATE key_service.service SET checked_in_at = checked_in_at - 7 * 86400")
            for _ in 1...2 { await Self.expectUncertain(right) }
            try database.run("UPDATE key_service.service SET clock_steady_since = clock_steady_since - 4 * 86400")
            _ = try await right.timeForErasing()
        }

        private static func watch(
            _ store: any KeyRecordStore, now: @escaping @Sendable () -> Int64
        ) throws -> StoreWatch {
            StoreWatch(
                commits: GroupCommit(store: store), masterKeys: MasterKeys(try .random()), mark: nil, now: now)
        }
    #endif
}
