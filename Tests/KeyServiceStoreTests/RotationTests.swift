import Testing

@testable import KeyServiceCore

/// The change of all records to another master key, with servers that run and records that are damaged.
@Suite struct RotationTests {
    private let old: MasterKey
    private let new: MasterKey

    init() throws {
        old = try .random()
        new = try .random()
    }

    /// A store with the old master key on its list.
    private func store(_ kind: StoreKind) async throws -> TestStore {
        let test = try await kind.make()
        try await test.store.addMasterKey(old.makeEntry())
        return test
    }

    private func rotation(_ test: TestStore) -> MasterKeyRotation {
        MasterKeyRotation(test.store, MasterKeys(new, old: [old]))
    }

    /// A key of version 1 under the old master key.
    private func key() throws -> StoredKey {
        var record = TestStore.record(masterKeyID: old.id)
        record.content = try RecordContent(bySecret: [1, 2], byLongSecret: [3, 4]).sealed(keyID: record.id, old)
        return StoredKey(record: record)
    }

    private func checkIn(_ test: TestStore, server: Int64, _ keys: [MasterKey], isLast: Bool = false) async throws {
        _ = try await test.store.checkIn(
            ServerCheckIn(server: server, time: TestStore.now, masterKeys: keys.map(\.id), isLast: isLast),
            deadline: .now + .seconds(20))
    }

    // SQLite has only one server: see RollbackTests.
    @Test(arguments: StoreKind.allCases.filter { $0 != .sqlite })
    func `when servers run, then the store knows their master keys`(kind: StoreKind) async throws {
        let test = try await store(kind)
        #expect(try await test.store.masterKeysOfServers().isEmpty)
        for _ in 1...2 { try await checkIn(test, server: .min, [old]) }
        try await checkIn(test, server: 2, [new, old])
        #expect(try await Set(test.store.masterKeysOfServers()) == [[old.id], [new.id, old.id]])
        try await checkIn(test, server: 2, [new, old], isLast: true)
        #expect(try await test.store.masterKeysOfServers() == [[old.id]])
    }

    @Test(arguments: StoreKind.allCases.filter { $0 != .sqlite })
    func `when a server lacks the new key, then nothing moves`(kind: StoreKind) async throws {
        let test = try await store(kind)
        let key = try key()
        #expect(try await test.store.put([key], whileRetiredBecause: nil))
        try await checkIn(test, server: 1, [old])
        try await checkIn(test, server: 2, [new, old])
        let rotation = rotation(test)
        let error = await #expect(throws: KeyServiceServerError.self) { try await rotation.run() }
        #expect(error?.code == .configurationInvalid && error?.remedy == .restartServers)
        let message = "1 of 2 running servers does not have the master key \(new.id). No key was changed."
        #expect(error?.description == message)
        #expect(try await test.store.state().masterKeys.map(\.id) == [old.id], "servers without the new key stay ready")
        #expect(try await test.keys() == [key])
        try await checkIn(test, server: 1, [old], isLast: true)
        let outcome = try await rotation.run()
        #expect(outcome.resealed == 1 && outcome.removed == [old.id])
    }

    @Test(arguments: StoreKind.allCases)
    func `when records are damaged, then the others still move`(kind: StoreKind) async throws {
        let test = try await store(kind)
        var keys = [try key(), try key(), try key()]
        keys[1].record.content[20] ^= 1
        var unreadable = OPRFTestKey(test, masterKeyID: old.id).new
        unreadable.record.details = .oprf(endKey: [1, 2, 3], confirmKey: nil)
        #expect(try await test.store.put(keys + [unreadable], whileRetiredBecause: nil))
        let damaged = [keys[1].record.id, unreadable.record.id]
        for moved in [2, 0] {
            let outcome = try await rotation(test).run()
            #expect(outcome.resealed == moved && Set(outcome.damaged) == Set(damaged))
            #expect(outcome.left == 0 && outcome.removed.isEmpty, "only the damaged records need the old key")
        }
        for id in damaged { _ = try await test.store.delete(keyID: id) }
        let outcome = try await rotation(test).run()
        #expect(outcome.damaged.isEmpty && outcome.removed == [old.id])
        let records = try await test.keys().map(\.record)
        #expect(records.map(\.id) == [keys[0].record.id, keys[2].record.id])
        for record in records {
            #expect(try RecordContent(of: record, MasterKeys(new)).bySecret == [1, 2])
        }
    }
}
