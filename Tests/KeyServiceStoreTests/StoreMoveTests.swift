import Testing
import VaultLocks

@testable import KeyServiceServer

/// The move into another store, interrupted at every call.
@Suite struct StoreMoveTests {
    private static func filled(count: Int) async throws -> InMemoryKeyRecordStore {
        let store = InMemoryKeyRecordStore(limits: GuessLimits(inARow: 4, inAll: 50))
        try await store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1]))
        try await store.put(
            (0..<count).map { number in
                StoredKey(
                    record: TestStore.record(),
                    count: GuessCount(inARow: number % 4, inAll: number % 7 + number % 4, lastWrongAt: 5),
                    lastUsedAt: number % 2 == 0 ? nil : 6, lock: [nil, .locked, .revoked][number % 3])
            })
        return store
    }

    private static func move(_ source: any KeyRecordOperations, _ target: any KeyRecordOperations) async throws -> Int?
    {
        try await StoreMove(source: source, target: target, report: { _ in }).run()
    }

    private static func isServed(_ store: InMemoryKeyRecordStore) async throws -> Bool {
        try await store.state().retiredBecause == nil
    }

    @Test func everythingIsThereAndOnlyTheTargetIsServed() async throws {
        let (source, target) = (try await Self.filled(count: 1203), InMemoryKeyRecordStore())
        #expect(try await Self.move(source, target) == 1203)
        let keys = try await source.storedKeys(after: nil, count: .max).map(\.1)
        #expect(try await target.storedKeys(after: nil, count: .max).map(\.1) == keys)
        let state = try await target.state()
        #expect(state.limits == GuessLimits(inARow: 4, inAll: 50))
        #expect(try await state.masterKeys == source.state().masterKeys)
        #expect(try await Self.isServed(target))
        #expect(try await !Self.isServed(source))
        #expect(try await Self.move(source, target) == nil, "a second call finds everything done")
    }

    @Test(arguments: [false, true]) func afterAnyFailureASecondCallFinishes(isAfter: Bool) async throws {
        var steps = 0
        var isInterrupted = true
        while isInterrupted {
            let (source, target) = (try await Self.filled(count: 12), InMemoryKeyRecordStore())
            let left = CallsLeft(steps)
            do {
                _ = try await Self.move(
                    FailingStore(source, left, isAfter: isAfter), FailingStore(target, left, isAfter: isAfter))
                isInterrupted = false
            } catch {
                let (old, new) = (try await Self.isServed(source), try await Self.isServed(target))
                let isNew = try await target.state().masterKeys.isEmpty
                #expect(!(old && new) || isNew, "after \(steps) calls")
                if old {
                    // The old service ran again meanwhile.
                    let first = try #require(await source.summaries(after: nil, count: 1).first)
                    _ = try await source.delete(keyID: first.id)
                    try await source.put([
                        StoredKey(record: TestStore.record(), count: GuessCount(), lastUsedAt: nil, lock: nil)
                    ])
                }
                _ = try await Self.move(source, target)
            }
            let keys = try await source.storedKeys(after: nil, count: .max).map(\.1)
            #expect(try await target.storedKeys(after: nil, count: .max).map(\.1) == keys, "after \(steps) calls")
            #expect(try await Self.isServed(target))
            #expect(try await !Self.isServed(source))
            steps += 1
        }
        #expect(steps > 10)
    }

    @Test func aTargetInUseIsRefused() async throws {
        let (source, target) = (try await Self.filled(count: 2), try await Self.filled(count: 1))
        await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(source, target) }
        #expect(try await Self.isServed(source))
        #expect(try await Self.isServed(target))
    }

    @Test func aMovedStoreIsNotMovedElsewhere() async throws {
        let (source, target, other) = (
            try await Self.filled(count: 2), InMemoryKeyRecordStore(), InMemoryKeyRecordStore()
        )
        _ = try await Self.move(source, target)
        await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(source, other) }
        #expect(try await other.summaries(after: nil, count: 1).isEmpty)
    }

    private final class CallsLeft: Sendable {
        private let count: Lock<Int>

        init(_ count: Int) {
            self.count = Lock(count)
        }

        func take() throws {
            let left = count.withLock { count in
                defer { count -= 1 }
                return count
            }
            if left <= 0 { throw KeyServiceServerError.busy }
        }
    }

    /// A store that fails after a number of calls that write, either before or after the call.
    private struct FailingStore: KeyRecordOperations {
        let store: InMemoryKeyRecordStore
        let left: CallsLeft
        let isAfter: Bool

        init(_ store: InMemoryKeyRecordStore, _ left: CallsLeft, isAfter: Bool) {
            self.store = store
            self.left = left
            self.isAfter = isAfter
        }

        private func writing<R: Sendable>(_ body: () async throws -> R) async throws -> R {
            if !isAfter { try left.take() }
            let result = try await body()
            if isAfter { try left.take() }
            return result
        }

        func commit(
            _ changes: [KeyRecordChange], lane: Int, deadline: ContinuousClock.Instant
        ) async -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
            await store.commit(changes, lane: lane, deadline: deadline)
        }
        func state() async throws -> StoreState { try await store.state() }
        func setLimits(_ limits: GuessLimits) async throws { try await writing { try await store.setLimits(limits) } }
        func addMasterKey(_ masterKey: StoredMasterKey) async throws {
            try await writing { try await store.addMasterKey(masterKey) }
        }
        func removeMasterKey(_ id: MasterKeyID) async throws -> Bool { try await store.removeMasterKey(id) }
        func summaries(after row: Int64?, count: Int) async throws -> [KeyRecordSummary] {
            try await writing { try await store.summaries(after: row, count: count) }
        }
        func records(notUnder id: MasterKeyID, after row: Int64?, count: Int) async throws -> [(row: Int64, KeyRecord)]
        {
            try await store.records(notUnder: id, after: row, count: count)
        }
        func counts() async throws -> [MasterKeyID: Int] { try await store.counts() }
        func unlock(keyID: String) async throws { try await store.unlock(keyID: keyID) }
        func revoke(keyID: String) async throws { try await store.revoke(keyID: keyID) }
        func delete(keyID: String) async throws -> Bool { try await writing { try await store.delete(keyID: keyID) } }
        func acceptRollback(generation: Int64) async throws { try await store.acceptRollback(generation: generation) }
        func retire(because reason: String?) async throws {
            try await writing { try await store.retire(because: reason) }
        }
        func storedKeys(after row: Int64?, count: Int) async throws -> [(row: Int64, StoredKey)] {
            try await writing { try await store.storedKeys(after: row, count: count) }
        }
        func put(_ keys: [StoredKey]) async throws { try await writing { try await store.put(keys) } }
    }
}
