import Foundation
import Hummingbird
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceTestSupport
import Logging
import NIOCore
import ServiceLifecycle
import Testing
import VaultBase
import VaultCrypto

@testable import KeyServiceAudit
@testable import KeyServiceCore
@testable import KeyServiceSQLite
@testable import KeyServiceServer

/// A store that counts its transactions and makes them wait at a gate.
final class GatedStore: KeyRecordStore {
    let store = InMemoryKeyRecordStore()
    private let sizes = Lock<[Int]>([])
    private let isClosed = Lock(false)
    let gate = DispatchSemaphore(value: 0)
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init() {
        (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    }

    var transactionSizes: [Int] { sizes.withLock { $0 } }

    /// From now on each transaction waits until the gate is signalled.
    func close() { isClosed.withLock { $0 = true } }
    func open() { isClosed.withLock { $0 = false } }

    func commit(
        _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
    ) async -> [Result<Void, any Error>] {
        waitAtTheGate()
        sizes.withLock { $0.append(updates.count) }
        return await store.commit(updates, lane: lane, deadline: deadline)
    }

    func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
        waitAtTheGate()
        return try await store.checkIn(checkIn, deadline: deadline)
    }

    private func waitAtTheGate() {
        guard isClosed.withLock({ $0 }) else { return }
        arrival.yield()
        gate.wait()
    }
}

@Suite struct ConcurrencyTests {
    @Test func `when updates wait, then one transaction takes them all`() async throws {
        let store = GatedStore()
        let commits = GroupCommit(store: store)
        store.close()
        async let first: Void = commits.update("a", .read, deadline: .now + .seconds(60)) { _, _ in }
        for await _ in store.arrivals { break }
        for _ in 1...50 { commits.updateSoon("a") { $0?.noteUse(at: 0, forgetting: []) } }
        store.open()
        store.gate.signal()
        try await first
        await commits.flush()
        #expect(store.transactionSizes == [1, 50])
    }

    @Test func `when the server shuts down, then the open request finishes`() async throws {
        let store = GatedStore()
        let (addresses, address) = AsyncStream.makeStream(of: BoundAddress.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var operation = KeyServiceOperation()
        operation.onRunning = { address.yield($0) }
        let application = try await buildApplication(
            KeyServiceServerConfiguration(), commits: GroupCommit(store: store),
            masterKeys: MasterKeys(.random()), logger: logger, now: { 0 }, operation: operation)
        let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
        async let end: Void = group.run()
        let bound = try #require(await addresses.first { _ in true })
        #expect(bound.port > 0)
        #expect(bound.baseURL == "http://127.0.0.1:\(bound.port)")
        store.close()
        let status = try await TestClient.withClient(host: bound.host, port: bound.port) { client in
            var headers = HTTPFields()
            headers[.contentType] = "application/json"
            let body = ByteBuffer(string: #"{"secret":"\#(strongSecret)"}"#)
            async let reply = client.execute(
                TestClient.Request(
                    KeyServicePath.createKey, method: .post, authority: bound.host, headers: headers, body: body))
            for await _ in store.arrivals { break }
            // The request waits for its transaction.
            await group.triggerGracefulShutdown()
            store.open()
            store.gate.signal()
            return try await reply.status
        }
        #expect(status == .ok)
        try await end
    }

    @Test func `when many tasks want a key, then one holds it`() async throws {
        let holds = KeyQueues()
        let running = Lock(0)
        let results = try await inParallel(100) {
            try await holds.withHold(on: "key", deadline: .now + .seconds(60)) {
                let others = running.withLock { count in
                    defer { count += 1 }
                    return count
                }
                await Task.yield()
                running.withLock { $0 -= 1 }
                return others
            }
        }
        #expect(results == Array(repeating: 0, count: 100))
    }

    @Test func `when tasks wait for a key, then their order stays`() async throws {
        let holds = KeyQueues()
        let order = Lock<[Int]>([])
        // Runs the tasks on one thread, in the order in which they were made.
        let executor = WriterExecutor(DispatchQueue(label: "tasks in order"))
        let deadline = ContinuousClock.now + .seconds(60)
        let tasks: [Task<Void, any Error>] = try await holds.withHold(on: "key", deadline: deadline) {
            let tasks = (1...100).map { number in
                let waiting: @Sendable () async throws -> Void = {
                    try await holds.withHold(on: "key", deadline: deadline) { order.withLock { $0.append(number) } }
                }
                return Task(executorPreference: executor, operation: waiting)
            }
            // Afterwards, all of them wait.
            await Task(executorPreference: executor) {}.value
            return tasks
        }
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == Array(1...100))
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a key stays held, then waiting requests are refused in time`() async throws {
        let holds = KeyQueues()
        try await holds.withHold(on: "key", deadline: .now + .seconds(60)) {
            let codes = try await inParallel(100) {
                await #expect(throws: KeyServiceServerError.self) {
                    try await holds.withHold(on: "key", deadline: .now + .milliseconds(1)) {}
                }?.code
            }
            #expect(codes.count { $0 == .busy } == 100)
        }
        // The refused ones left nothing behind.
        #expect(try await holds.withHold(on: "key", deadline: .now + .seconds(60)) { true })
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a guess hangs, then guesses behind it end in time`() async throws {
        let store = GatedStore()
        let keeper = KeyKeeper(
            masterKeys: MasterKeys(try .random()), commits: GroupCommit(store: store),
            stretching: StretchingPool(threads: 1, maxRequests: 1), argon2: .insecureForTests, now: { 0 })
        let id = try await keeper.createKey(secret: strongSecret, deadline: .now + .seconds(60)).keyid
        store.close()
        async let first = keeper.releaseKey(
            keyID: id, for: .secret(strongSecret, renews: false), deadline: .now + .seconds(60))
        for await _ in store.arrivals { break }
        // The first one holds the key, and the store hangs all the time.
        let codes = try await inParallel(100) {
            await #expect(throws: KeyServiceServerError.self) {
                try await keeper.releaseKey(
                    keyID: id, for: .secret(otherStrongSecret, renews: false), deadline: .now + .milliseconds(1))
            }?.code
        }
        #expect(codes.count { $0 == .busy } == 100)
        store.open()
        store.gate.signal()
        #expect(try await first.wrongGuesses == nil, "none of the others counted")
    }

    @Test func `when giving back a guess fails, then it is repeated`() async throws {
        /// Refuses its first transaction.
        final class RefusingStore: KeyRecordStore {
            private let sizes = Lock<[Int]>([])
            var transactionSizes: [Int] { sizes.withLock { $0 } }

            func commit(
                _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
            ) async -> [Result<Void, any Error>] {
                let isFirst = sizes.withLock { sizes in
                    defer { sizes.append(updates.count) }
                    return sizes.isEmpty
                }
                return updates.map { _ in isFirst ? .failure(KeyServiceServerError.busy) : .success(()) }
            }

            func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
                throw KeyServiceServerError.busy
            }
        }
        let store = RefusingStore()
        let commits = GroupCommit(store: store)
        commits.updateSoon("a") { _ = $0?.settle([], .unused) }
        await commits.flush()
        await commits.flush()
        #expect(store.transactionSizes == [1, 1])
    }

    @Test func `when giving back keeps failing, then the repeats stay rare`() async throws {
        /// Refuses what is done to the key "a".
        final class RefusingStore: KeyRecordStore {
            private let refusals = Lock(0)
            var count: Int { refusals.withLock { $0 } }

            func commit(
                _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
            ) async -> [Result<Void, any Error>] {
                updates.map { update in
                    guard update.keyID == "a" else {
                        var key: StoredKey?
                        return Result { try update.apply(&key, GuessLimits()) }
                    }
                    refusals.withLock { $0 += 1 }
                    return .failure(KeyServiceServerError.busy)
                }
            }

            func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
                throw KeyServiceServerError.busy
            }
        }
        let store = RefusingStore()
        let commits = GroupCommit(store: store)
        commits.updateSoon("a") { _ = $0?.settle([], .unused) }
        for _ in 1...300 { try await commits.update("b", deadline: .now + .seconds(60)) { _, _ in } }
        #expect((1...30).contains(store.count), "once a second")
        let before = store.count
        await commits.flush()
        #expect(store.count == before + 1, "it is still kept")
    }

    @Test func `when a charge misses its deadline, then no guess counts`() async throws {
        let store = GatedStore()
        let commits = GroupCommit(store: store)
        let keeper = KeyKeeper(
            masterKeys: MasterKeys(try .random()), commits: commits,
            stretching: StretchingPool(threads: 1, maxRequests: 1), argon2: .insecureForTests, now: { 0 })
        let ids = try await [
            keeper.createKey(secret: strongSecret, deadline: .now + .seconds(60)).keyid,
            keeper.createKey(secret: strongSecret, deadline: .now + .seconds(60)).keyid,
        ]
        store.close()
        // The first charge hangs in the store, and the second one waits behind it.
        let guesses = try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask {
                    await #expect(throws: KeyServiceServerError.self) {
                        try await keeper.releaseKey(
                            keyID: id, for: .secret(strongSecret, renews: false), deadline: .now + .milliseconds(100))
                    }
                }
                if id == ids[0] { for await _ in store.arrivals { break } }
            }
            return try await group.reduce(0) { count, _ in count + 1 }
        }
        #expect(guesses == 2)
        store.open()
        store.gate.signal()
        await commits.flush()
        await commits.flush()
        let keys = store.store.content.withLock { $0.rows.values.map(\.key) }
        #expect(keys.map(\.wrongInAll) == [0, 0], "nobody heard of a guess")
    }
}
