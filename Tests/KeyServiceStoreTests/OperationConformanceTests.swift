import Testing

@testable import KeyServiceCore

/// What each store does for operators.
@Suite struct OperationConformanceTests {
    @Test(arguments: StoreKind.allCases)
    func `when a key is unlocked, then all guesses come back`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        let (ticket, _) = try await test.charge(record)
        try await test.store.unlock(keyID: record.id)
        #expect(try await test.find(record) == "found 0/0")
        #expect(try await test.run(.settle(record.id, ticket, .unused)) == "superseded")
        #expect(try await test.find(record) == "found 0/0")
        await #expect(throws: KeyServiceServerError.self) { try await test.store.unlock(keyID: "unknown") }
    }

    @Test(arguments: StoreKind.allCases)
    func `when keys are revoked or deleted, then they stay unusable`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.store.revoke(keyID: record.id)
        #expect(try await test.guess(record) == "locked")
        #expect(try await test.find(record) == "locked")
        #expect(try await test.summary(record.id).lock == .revoked)
        await #expect(throws: KeyServiceServerError.self) { try await test.store.unlock(keyID: record.id) }
        _ = try await test.store.delete(keyID: record.id)
        #expect(try await test.find(record) == "no such key")
        for call in [test.store.revoke, { _ = try await test.store.delete(keyID: $0) }] {
            let error = await #expect(throws: KeyServiceServerError.self) { try await call(record.id) }
            #expect(error?.code == .noSuchKey)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when keys are paged, then each appears exactly once`(kind: StoreKind) async throws {
        let test = try await kind.make()
        var ids = [try await test.prepared().id]
        for _ in 1...6 {
            let record = TestStore.record()
            #expect(try await test.run(.insert(record)) == "done")
            ids.append(record.id)
        }
        var seen: [String] = []
        var row: Int64?
        repeat {
            let page = try await test.store.summaries(after: row, count: 3, GuessLimits())
            #expect(page.keys.count <= 3)
            seen += page.keys.map(\.id)
            row = page.last
        } while row != nil
        #expect(seen == ids, "the oldest first")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a master key has records, then removing it fails`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let new = MasterKeyID(rawValue: 5)
        try await test.store.addMasterKey(StoredMasterKey(id: new, check: [9]))
        try await test.store.addMasterKey(StoredMasterKey(id: new, check: [8]))
        let stored = try await test.store.state().masterKeys
        #expect(Set(stored.map(\.id)) == [TestStore.masterKeyID, new])
        #expect(stored.first { $0.id == new }?.check == [9], "a known one stays as it is")
        #expect(try await test.store.counts() == [TestStore.masterKeyID: 1])
        let others = { try await test.store.page(after: nil, count: 9, of: .notUnder(new)).undamagedKeys() }
        #expect(try await others().map(\.record) == [record])
        #expect(try await !test.store.removeMasterKey(TestStore.masterKeyID))

        var sealed = record
        (sealed.masterKeyID, sealed.content) = (new, [4, 5, 6])
        let resealed = sealed
        try await test.commit(KeyUpdate(record.id) { key, _ in key?.record = resealed })[0].get()
        #expect(try await others().isEmpty)
        #expect(try await test.store.removeMasterKey(TestStore.masterKeyID))
        #expect(try await test.store.state().masterKeys.map(\.id) == [new])
        #expect(try await test.key(record.id).record == sealed)
    }

    @Test(arguments: StoreKind.allCases)
    func `when audit logs are added, then each stays once`(kind: StoreKind) async throws {
        let test = try await kind.make()
        #expect(try await test.store.auditLogs().isEmpty)
        for id in [[1, 2], [3, 4], [1, 2]] as [[UInt8]] { try await test.store.addAuditLog(id) }
        #expect(try await Set(test.store.auditLogs()) == [[1, 2], [3, 4]])
        #expect(try await test.store.auditLogs().count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a rollback is accepted, then one guess is left`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let before = try await test.store.state()
        let (ticket, _) = try await test.charge(record)
        try await test.store.acceptRollback(generation: 1000, now: 2_000_000)
        let after = try await test.store.state()
        #expect(after.storeID == before.storeID && after.storeID.count == 16)
        #expect(after.generation == 1000)
        #expect(
            try await test.run(.settle(record.id, ticket, .right(time: 1, forgetting: []))) == "superseded",
            "a guess from before gives nothing back")
        try await test.guessWrong(record, times: 1)
        #expect(try await test.guess(record) == "locked")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a service checks in, then the generation rises`(kind: StoreKind) async throws {
        let test = try await kind.make()
        _ = try await test.prepared()
        #expect(try await test.store.retire(because: "It moved.", insteadOf: nil))
        var generations: [Int64] = []
        for _ in 1...2 {
            let checkIn = ServerCheckIn(server: 1, time: 5, masterKeys: [])
            let state = try await test.store.checkIn(checkIn, deadline: .now + .seconds(20))
            generations.append(state.generation)
            #expect(state == (try await test.store.state()))
            #expect(state.retiredBecause == "It moved.")
            #expect(state.masterKeys == [StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3])])
        }
        #expect(generations[1] == generations[0] + 1)
        #expect(try await test.store.retire(because: nil, insteadOf: "It moved."))
        #expect(try await test.store.state().retiredBecause == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a store is retired, then other reasons change nothing`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let known = try await test.prepared()
        let store = test.store
        let key = StoredKey(record: TestStore.record())
        #expect(try await store.retire(because: "A moves.", insteadOf: nil))
        for other in ["B moves.", nil] {
            #expect(try await !store.put([key], whileRetiredBecause: other))
            #expect(try await !store.delete(keyID: known.id, whileRetiredBecause: other))
            #expect(try await !store.retire(because: nil, insteadOf: other))
        }
        #expect(try await store.state().retiredBecause == "A moves.")
        #expect(try await test.keys().map(\.record.id) == [known.id])
        #expect(try await store.put([key], whileRetiredBecause: "A moves."))
        for _ in 1...2 { #expect(try await store.delete(keyID: known.id, whileRetiredBecause: "A moves.")) }
        #expect(try await test.keys() == [key])
    }

    @Test(arguments: StoreKind.allCases)
    func `when keys are put, then all values come back`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let known = try await test.prepared()
        let stretched = KeyRecord(
            id: "stretched", createdAt: 4,
            details: try KeyDetails(kind: 2, bytes: (0..<28).map { UInt8($0) }), masterKeyID: TestStore.masterKeyID,
            content: [7])
        let guesses = [
            StoredKey.Guess(ticket: StoredKey.newTicket(), openedAt: 11),
            StoredKey.Guess(ticket: StoredKey.newTicket(), openedAt: 12),
        ]
        let keys = [
            StoredKey(record: known, guesses: guesses, wrongInAll: 9, lastUsedAt: 3, ownerUnlockedAt: 8),
            StoredKey(record: stretched, state: .revoked), StoredKey(record: TestStore.record(), wrongInAll: 100),
        ]
        for _ in 1...2 { #expect(try await test.store.put(keys, whileRetiredBecause: nil)) }
        #expect(try await test.keys() == keys)
        let first = try await test.store.page(after: nil, count: 1, of: .all)
        #expect(try await test.store.page(after: first.last, count: 1, of: .all).undamagedKeys() == [keys[1]])
        #expect(try await test.find(known) == "found 2/9")
        #expect(try await test.guess(keys[2].record) == "locked")
        #expect(try await test.store.put([StoredKey(record: known)], whileRetiredBecause: nil))
        #expect(try await test.find(known) == "found 0/0")
    }
}
