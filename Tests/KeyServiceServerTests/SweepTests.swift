import CoreMetrics
import KeyServiceTestSupport
import Testing
import VaultBase

@testable import KeyServiceCore
@testable import KeyServiceServer

/// The erasing of old keys.
@Suite struct SweepTests {
    private static let start: Int64 = 1_800_000_000
    private static let day: Int64 = 86400

    /// A wall clock, and a clock that nobody can set.
    private final class Clocks: Sendable {
        private let values = Lock((time: SweepTests.start, instant: ContinuousClock.now))

        var time: Int64 { values.withLock { $0.time } }
        var instant: ContinuousClock.Instant { values.withLock { $0.instant } }

        func set(by seconds: Int64) { values.withLock { $0.time += seconds } }

        func pass(_ seconds: Int64) {
            values.withLock { values in
                values.time += seconds
                values.instant += .seconds(seconds)
            }
        }
    }

    private let clocks = Clocks()
    private let store = InMemoryKeyRecordStore()
    private let log = LogCapture()
    private let prometheus = PrometheusMetrics()
    private let watch: StoreWatch

    /// Makes a locked key, an unfinished one and one that nobody claimed.
    init() async throws {
        let clocks = clocks
        watch = StoreWatch(
            commits: GroupCommit(store: store), masterKeys: MasterKeys(try .random()), mark: nil,
            now: { clocks.time }, instant: { clocks.instant })
        try await watch.checkIn()
        let guesses = (0..<3).map { _ in
            StoredKey.Guess(ticket: StoredKey.random(16), blinded: StoredKey.random(32), openedAt: Self.start)
        }
        let keys = [
            Self.key("locked", guesses: guesses), Self.key("unfinished", .unfinished),
            Self.key("unclaimed", owner: StoredKey.nobodyYet),
        ]
        #expect(try await store.put(keys, whileRetiredBecause: nil))
    }

    private static func key(
        _ id: String, _ state: StoredKey.State = .live, guesses: [StoredKey.Guess] = [], owner: [UInt8]? = nil
    ) -> StoredKey {
        let record = KeyRecord(
            id: id, createdAt: start, details: .oprf(endKey: StoredKey.random(32), confirmKey: StoredKey.random(32)),
            masterKeyID: MasterKeyID(rawValue: 1), content: StoredKey.random(144))
        return StoredKey(record: record, state: state, guesses: guesses, owner: owner)
    }

    private func eraseOldKeys() async {
        await SweepService(
            store: store, watch: watch, destroyAfter: 30 * Self.day, endsUnclaimedKeys: true,
            metrics: KeyServiceMetrics(factory: prometheus), audit: nil, logger: log.makeLogger(), explain: { "\($0)" }
        ).eraseOldKeys()
    }

    private var states: [String: StoredKey.State] {
        store.content.withLock { $0.rows.mapValues(\.key.state) }
    }

    @Test func `when the clock is ahead, then no key is erased`() async throws {
        clocks.set(by: 5 * 365 * Self.day)
        await eraseOldKeys()
        #expect(states == ["locked": .live, "unfinished": .unfinished, "unclaimed": .live])
        #expect(log.text.contains("error The clock is uncertain, so no old keys are erased: The time has jumped"))
        #expect(prometheus.text().contains("\nvault_key_service_clock_uncertain 1\n"))
    }

    @Test func `when the time has passed, then old keys are erased`() async throws {
        for _ in 1...30 {
            clocks.pass(Self.day)
            try await watch.checkIn()
        }
        await eraseOldKeys()
        #expect(states == ["locked": .destroyed, "unclaimed": .ended])
        #expect(!log.text.contains("error"))
        #expect(prometheus.text().contains("\nvault_key_service_clock_uncertain 0\n"))
    }
}
