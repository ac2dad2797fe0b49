import Foundation
import Hummingbird
import HummingbirdTesting
import KeyServiceAPI
import Logging
import NIOCore
import ServiceLifecycle
import Testing
import VaultLocks

@testable import KeyServiceServer

@Suite struct ConcurrencyTests {
    /// A store that counts its transactions and makes them wait at a gate.
    private final class GatedStore: KeyRecordStore {
        private let store = InMemoryKeyRecordStore()
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

        func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome] {
            if isClosed.withLock({ $0 }) {
                arrival.yield()
                gate.wait()
            }
            sizes.withLock { $0.append(changes.count) }
            return try store.commit(changes)
        }
    }

    @Test func whatWaitsSharesOneTransaction() async throws {
        let store = GatedStore()
        let commits = GroupCommit(store: store)
        store.close()
        async let first = commits.commit(.giveBack(keyID: "a", lastWrongAt: nil, usedAt: nil))
        for await _ in store.arrivals { break }
        for _ in 1...50 { commits.commitSoon(.giveBack(keyID: "a", lastWrongAt: nil, usedAt: nil)) }
        store.open()
        store.gate.signal()
        _ = try await first
        await commits.flush()
        #expect(store.transactionSizes == [1, 50])
    }

    @Test func requestUnderWayIsAnsweredBeforeTheEnd() async throws {
        let store = GatedStore()
        let (addresses, address) = AsyncStream.makeStream(of: BoundAddress.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let application = try buildApplication(
            KeyServiceServerConfiguration(), store: store, masterKey: .random(), logger: logger,
            onServerRunning: { address.yield($0) })
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
                TestClient.Request(KeyServicePath.createKey, method: .post, headers: headers, body: body))
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

    @Test func aKeyIsHeldByOneAtATimeInOrder() async throws {
        let holds = KeyHolds()
        let running = Lock(0)
        let results = try await inParallel(100) {
            try await holds.withHold(on: "key") {
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

    @Test func refusedGiveBackIsTriedAgain() async throws {
        /// Refuses its first transaction.
        final class RefusingStore: KeyRecordStore {
            private let sizes = Lock<[Int]>([])
            var transactionSizes: [Int] { sizes.withLock { $0 } }

            func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome] {
                let isFirst = sizes.withLock { sizes in
                    defer { sizes.append(changes.count) }
                    return sizes.isEmpty
                }
                if isFirst { throw KeyServiceServerError.busy }
                return changes.map { _ in .done }
            }
        }
        let store = RefusingStore()
        let commits = GroupCommit(store: store)
        commits.commitSoon(.succeed(keyID: "a", wasCharged: true, time: 0))
        await commits.flush()
        await commits.flush()
        #expect(store.transactionSizes == [1, 1])
    }
}
