import KeyServiceTestSupport
import Testing
import VaultBase

@testable import KeyServiceCore

/// The move into another store, interrupted at every call.
@Suite struct StoreMoveTests {
    private static func filled(count: Int) async throws -> InMemoryKeyRecordStore {
        let store = InMemoryKeyRecordStore(limits: GuessLimits(inARow: 4, inAll: 50))
        try await store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1]))
        try await store.addAuditLog([7])
        try await store.write(clock: StoreClock(checkedInAt: 90, steadySince: 80))
        let keys = (0..<count).map { number in
            StoredKey(
                record: TestStore.record(), state: number % 3 == 2 ? .revoked : .live,
                guesses: (0..<number % 4).map { StoredKey.Guess(ticket: StoredKey.newTicket(), openedAt: Int64($0)) },
                wrongInAll: number % 7 + number % 4, lastUsedAt: number % 2 == 0 ? nil : 6,
                ownerUnlockedAt: number % 5 == 0 ? 8 : nil)
        }
        #expect(try await store.put(keys, whileRetiredBecause: nil))
        return store
    }

    private static func move(
        _ source: any KeyRecordOperations, _ target: any KeyRecordOperations, folder: String = "/srv/keys"
    ) async throws -> Int? {
        try await StoreMove(folder: folder, source: source, target: target, report: { _ in }).run()
    }

    private static func newKey() -> StoredKey {
        StoredKey(record: TestStore.record())
    }

    private static func keys(_ store: InMemoryKeyRecordStore) async throws -> [StoredKey] {
        try await store.page(after: nil, count: .max, of: .all).undamagedKeys()
    }

    private static func isServed(_ store: InMemoryKeyRecordStore) async throws -> Bool {
        try await store.state().retiredBecause == nil
    }

    @Test func `when a store moves, then only the target is served`() async throws {
        let (source, target) = (try await Self.filled(count: 1203), InMemoryKeyRecordStore())
        #expect(try await Self.move(source, target) == 1203)
        let keys = try await Self.keys(source)
        #expect(try await Self.keys(target) == keys)
        let state = try await target.state()
        #expect(state.limits == GuessLimits(inARow: 4, inAll: 50))
        #expect(try await state.masterKeys == source.state().masterKeys)
        #expect(try await target.auditLogs() == [[7]], "the target demands the audit log, too")
        let clock = try await target.state().clock
        #expect(clock == StoreClock(checkedInAt: 90, steadySince: 80), "an uncertain clock stays uncertain")
        #expect(try await Self.isServed(target))
        #expect(try await !Self.isServed(source))
        #expect(try await Self.move(source, target) == nil, "a second call finds everything done")
    }

    @Test(arguments: [false, true])
    func `when a move fails anywhere, then a second call finishes`(isAfter: Bool) async throws {
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
                    let first = try #require(await Self.keys(source).first)
                    _ = try await source.delete(keyID: first.record.id)
                    #expect(try await source.put([Self.newKey()], whileRetiredBecause: nil))
                }
                _ = try await Self.move(source, target)
            }
            let keys = try await Self.keys(source)
            #expect(try await Self.keys(target) == keys, "after \(steps) calls")
            #expect(try await Self.isServed(target))
            #expect(try await !Self.isServed(source))
            steps += 1
        }
        #expect(steps > 10)
    }

    @Test func `when a move is unfinished, then another source is refused`() async throws {
        var steps = 0
        var claims = 0
        var isInterrupted = true
        while isInterrupted {
            let (first, second) = (try await Self.filled(count: 6), try await Self.filled(count: 4))
            let target = InMemoryKeyRecordStore()
            let left = CallsLeft(steps)
            do {
                _ = try await Self.move(
                    FailingStore(first, left, isAfter: false), FailingStore(target, left, isAfter: false),
                    folder: "/srv/first")
                isInterrupted = false
            } catch {
                if try await target.state().retiredBecause != nil {
                    claims += 1
                    let error = await #expect(throws: KeyServiceServerError.self) {
                        _ = try await Self.move(second, target, folder: "/srv/second")
                    }
                    #expect(error?.code == .configurationInvalid)
                    #expect(error?.remedy == .finishMove(folder: "/srv/first"))
                }
                // The folder may be renamed.
                #expect(try await Self.move(first, target, folder: "/srv/renamed") == 6)
            }
            #expect(try await Self.keys(target) == Self.keys(first), "after \(steps) calls")
            #expect(try await Self.isServed(second))
            await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(second, target) }
            #expect(try await Self.keys(target) == Self.keys(first))
            steps += 1
        }
        #expect(claims > 5)
    }

    @Test func `when a move loses its claim, then nothing changes`() async throws {
        let (source, target, served) = (try await Self.filled(count: 3), InMemoryKeyRecordStore(), Self.newKey())
        // Another command with a copy of the folder finishes in the middle.
        let slow = FailingStore(
            source, CallsLeft(.max), isAfter: false,
            beforeReading: {
                guard let claim = try await target.state().retiredBecause else { return }
                #expect(try await target.retire(because: nil, insteadOf: claim))
                #expect(try await target.put([served], whileRetiredBecause: nil))
            })
        let error = await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(slow, target) }
        #expect(error?.code == .busy)
        #expect(try await Self.keys(target) == [served])
        #expect(try await Self.isServed(source))
    }

    @Test func `when a server takes the target, then the move fails`() async throws {
        let (source, target) = (try await Self.filled(count: 3), InMemoryKeyRecordStore())
        let late = FailingStore(
            target, CallsLeft(.max), isAfter: false,
            beforeRetiring: {
                try await target.addMasterKey(StoredMasterKey(id: MasterKeyID(rawValue: 9), check: [9]))
            })
        await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(source, late) }
        #expect(try await Self.isServed(target))
        #expect(try await Self.isServed(source))
        #expect(try await Self.keys(target).isEmpty)
    }

    @Test func `when a moved key vanishes, then another move names it`() async throws {
        let (source, target) = (try await Self.filled(count: 3), InMemoryKeyRecordStore())
        _ = try await Self.move(source, target)
        #expect(try await target.put([Self.newKey()], whileRetiredBecause: nil))
        #expect(try await Self.move(source, target) == nil)
        let lost = try await Self.keys(source)[1].record.id
        _ = try await target.delete(keyID: lost)
        let error = await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(source, target) }
        #expect(error?.description.contains(lost) == true)
    }

    @Test func `when the target is in use, then moving fails`() async throws {
        let (source, target) = (try await Self.filled(count: 2), try await Self.filled(count: 1))
        await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(source, target) }
        #expect(try await Self.isServed(source))
        #expect(try await Self.isServed(target))
    }

    @Test func `when a store has moved, then moving it elsewhere fails`() async throws {
        let (source, target, other) = (
            try await Self.filled(count: 2), InMemoryKeyRecordStore(), InMemoryKeyRecordStore()
        )
        _ = try await Self.move(source, target)
        await #expect(throws: KeyServiceServerError.self) { _ = try await Self.move(source, other) }
        #expect(try await Self.keys(other).isEmpty)
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
        let beforeRetiring: @Sendable () async throws -> Void
        let beforeReading: @Sendable () async throws -> Void

        init(
            _ store: InMemoryKeyRecordStore, _ left: CallsLeft, isAfter: Bool,
            beforeRetiring: @escaping @Sendable () async throws -> Void = {},
            beforeReading: @escaping @Sendable () async throws -> Void = {}
        ) {
            self.store = store
            self.left = left
            self.isAfter = isAfter
            self.beforeRetiring = beforeRetiring
            self.beforeReading = beforeReading
        }

        private func writing<R: Sendable>(_ body: () async throws -> R) async throws -> R {
            if !isAfter { try left.take() }
            let result = try await body()
            if isAfter { try left.take() }
            return result
        }

        func commit(
            _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
        ) async -> [Result<Void, any Error>] {
            await store.commit(updates, lane: lane, deadline: deadline)
        }
        func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
            try await store.checkIn(checkIn, deadline: deadline)
        }
        func state() async throws -> StoreState { try await store.state() }
        func write(limits: GuessLimits) async throws { try await writing { try await store.write(limits: limits) } }
        func write(generation: Int64) async throws { try await store.write(generation: generation) }
        func addMasterKey(_ masterKey: StoredMasterKey) async throws {
            try await writing { try await store.addMasterKey(masterKey) }
        }
        func removeMasterKey(_ id: MasterKeyID) async throws -> Bool { try await store.removeMasterKey(id) }
        func masterKeysOfServers() async throws -> [[MasterKeyID]] { try await store.masterKeysOfServers() }
        func identity() async throws -> StoredIdentity? { try await store.identity() }
        func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
            try await writing { try await store.setIdentity(new, insteadOf: old) }
        }
        func auditLogs() async throws -> [[UInt8]] { try await store.auditLogs() }
        func write(clock: StoreClock) async throws { try await store.write(clock: clock) }
        func addAuditLog(_ id: [UInt8]) async throws { try await writing { try await store.addAuditLog(id) } }
        func page(after row: Int64?, count: Int, of selection: KeySelection) async throws -> KeyPage {
            try await beforeReading()
            return try await writing { try await store.page(after: row, count: count, of: selection) }
        }
        func counts() async throws -> [MasterKeyID: Int] { try await store.counts() }
        func keys(ofOwner owner: [UInt8]) async throws -> KeyPage { try await store.keys(ofOwner: owner) }
        func remove(keyID: String) async throws -> Bool { try await writing { try await store.remove(keyID: keyID) } }
        func eraseOldCopies() async throws -> Bool { try await store.eraseOldCopies() }
        func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
            try await beforeRetiring()
            return try await writing { try await store.retire(because: reason, insteadOf: old) }
        }
        func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
            try await writing { try await store.put(keys, whileRetiredBecause: reason) }
        }
        func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
            try await writing { try await store.delete(keyID: keyID, whileRetiredBecause: reason) }
        }
    }
}
