import Testing

@testable import KeyServiceCore

/// What each store does with guesses of the protocol's version 1.
@Suite struct GuessConformanceTests {
    private static let now = TestStore.now
    private static let later = TestStore.later

    @Test(arguments: StoreKind.allCases)
    func `when a record is stored, then it comes back unchanged`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        #expect(try await test.key(record.id) == StoredKey(record: record))
        #expect(try await test.store.state().limits == GuessLimits(inARow: 3, inAll: 100))
    }

    @Test(arguments: StoreKind.allCases)
    func `when a record is inserted again, then its count stays`(kind: StoreKind) async throws {
        let test = try await kind.make()
        var record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        #expect(try await test.run(.insert(record)) == "done")
        #expect(try await test.find(record) == "found 1/1", "the count stays")
        record.content[0] ^= 1
        #expect(try await test.run(.insert(record)) == "exists")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key is unknown, then no call finds it`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let other = TestStore.record()
        #expect(try await test.find(other) == "no such key")
        #expect(try await test.guess(other) == "no such key")
        #expect(try await test.run(.settle(other.id, StoredKey.newTicket(), .wrong)) == "superseded")
        #expect(try await test.run(.noteUse(other.id, at: 1)) == "done")
        #expect(try await test.keys().isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a ticket is settled, then a second settling fails`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (ticket, answer) = try await test.charge(record)
        #expect(answer == "found 0/0")
        #expect(try await test.run(.charge(record.id, ticket)) == "found 0/0", "a repeated charge is the same one")
        #expect(try await test.find(record) == "found 1/1")
        #expect(try await test.run(.settle(record.id, ticket, .unused)) == "done")
        #expect(try await test.run(.settle(record.id, ticket, .unused)) == "superseded")
        #expect(try await test.find(record) == "found 0/0")
    }

    @Test(arguments: StoreKind.allCases)
    func `when guesses overlap, then right ones forget only wrong ones`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        let (slow, first) = try await test.charge(record)
        let (quick, second) = try await test.charge(record)
        #expect([first, second] == ["found 1/1", "found 1/2"], "a guess under way is not wrong yet")
        #expect(try await test.guess(record) == "underWay", "nobody hears \"locked\" while one may be right")
        #expect(try await test.run(.settleRight(record.id, quick)) == "done")
        #expect(try await test.find(record) == "found 1/2", "the slow one")
        #expect(try await test.run(.settle(record.id, slow, .wrong)) == "done")
        #expect(try await test.find(record) == "found 1/2")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a right guess settles late, then its charge returns`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (late, _) = try await test.charge(record)
        let (wrong, answer) = try await test.charge(record, at: Self.later)
        #expect(answer == "found 1/1", "by now the first one counts as wrong")
        #expect(try await test.run(.settle(record.id, wrong, .wrong)) == "done")
        #expect(try await test.run(.settle(record.id, late, .rightAndKept(time: Self.later))) == "done")
        #expect(try await test.find(record) == "found 1/1", "no other charge")
    }

    @Test(arguments: StoreKind.allCases)
    func `when right guesses settle late, then later wrong ones stay`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        let seen = try await test.key(record.id).guesses.map(\.ticket)
        let (late, _) = try await test.charge(record)
        try await test.guessWrong(record, times: 1)
        let result = StoredKey.GuessResult.right(time: Self.later, forgetting: seen)
        #expect(try await test.run(.settle(record.id, late, result)) == "done")
        #expect(try await test.find(record) == "found 1/2", "the guess that came after the right one")
        try await test.guessWrong(record, times: 2)
        #expect(try await test.guess(record) == "locked")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a guess is right, then the count resets`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        let (ticket, _) = try await test.charge(record)
        #expect(try await test.run(.settleRight(record.id, ticket)) == "done")
        let summary = try await test.summary(record.id)
        #expect(summary.wrongGuesses == GuessCount(inARow: 0, inAll: 2))
        #expect(summary.lastUsedAt == Self.now)
        #expect(summary.lock == nil)
    }

    @Test(arguments: StoreKind.allCases, [StoredKey.GuessResult.rightAndKept(time: 88), .unused])
    func `when a charge is taken back, then other charges stay`(
        kind: StoreKind, result: StoredKey.GuessResult
    ) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        let (ticket, _) = try await test.charge(record, at: Self.later)
        #expect(try await test.run(.settle(record.id, ticket, result)) == "done")
        let summary = try await test.summary(record.id)
        #expect(summary.wrongGuesses == GuessCount(inARow: 1, inAll: 1, lastWrongAt: Self.now))
        #expect(summary.lastUsedAt == (result == .unused ? nil : 88))
    }

    @Test(arguments: StoreKind.allCases)
    func `when three consecutive guesses fail, then the key locks`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 3)
        #expect(try await test.guess(record) == "locked")
        #expect(try await test.find(record) == "locked")
        #expect(try await test.summary(record.id).lock == .locked)
    }

    @Test(arguments: StoreKind.allCases)
    func `when the total limit is reached, then the key locks`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.store.setLimits(GuessLimits(inARow: 2, inAll: 3))
        for _ in 1...3 {
            try await test.guessWrong(record, times: 1)
            // A right long secret resets the count in a row only.
            try await test.run(.noteUse(record.id, at: 1))
        }
        #expect(try await test.guess(record) == "locked")
        #expect(try await test.summary(record.id).wrongGuesses == GuessCount(inARow: 0, inAll: 3))
    }

    @Test(arguments: StoreKind.allCases, [StoredKey.GuessResult.right(time: 1, forgetting: []), .unused])
    func `when last guesses aren't wrong, then the key stays unlocked`(
        kind: StoreKind, result: StoredKey.GuessResult
    ) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        let (ticket, answer) = try await test.charge(record)
        #expect(answer == "found 2/2")
        #expect(try await test.guess(record) == "underWay", "nobody hears \"locked\" while it may be right")
        #expect(try await test.run(.settle(record.id, ticket, result)) == "done")
        #expect(try await test.summary(record.id).lock == nil)
        _ = try await test.charge(record)
    }

    @Test(arguments: StoreKind.allCases)
    func `when the last guess stays unsettled, then the key locks`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        _ = try await test.charge(record)
        #expect(try await test.guess(record, at: Self.later) == "locked")
        #expect(try await test.guess(record, at: Self.now - 60) == "locked", "nor with a clock that was set back")
    }

    @Test(arguments: StoreKind.allCases)
    func `when limits rise, then a locked key stays locked`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        try await test.store.setLimits(GuessLimits(inARow: 2, inAll: 2))
        #expect(try await test.guess(record) == "locked", "a lower limit counts at once")
        try await test.store.setLimits(GuessLimits(inARow: 10, inAll: 100))
        #expect(try await test.guess(record) == "locked")
        #expect(try await test.store.state().limits == GuessLimits(inARow: 10, inAll: 100))
        #expect(try await test.summary(record.id).wrongGuesses.inAll == 100, "by the limit in all, too")
        try await test.store.unlock(keyID: record.id)
        #expect(try await test.summary(record.id).wrongGuesses == GuessCount())
        #expect(try await test.charge(record).answer == "found 0/0")
    }

    @Test(arguments: StoreKind.allCases)
    func `when long secrets are used, then only settled guesses reset`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        let (ticket, _) = try await test.charge(record)
        try await test.run(.noteUse(record.id, at: Self.now))
        #expect(try await test.find(record) == "found 1/2")
        try await test.run(.settle(record.id, ticket, .wrong))
        try await test.run(.noteUse(record.id, at: Self.now + 1))
        #expect(try await test.find(record) == "found 0/2")
        #expect(try await test.summary(record.id).lastUsedAt == Self.now + 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a batch has many changes, then their order stays`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (ticket, _) = try await test.charge(record)
        let (second, third) = (StoredKey.newTicket(), StoredKey.newTicket())
        let other = TestStore.record()
        let answers = try await test.runAll(
            .charge(record.id, second), .insert(other), .settle(record.id, ticket, .wrong), .find(other.id),
            .charge(record.id, third), .charge(record.id, StoredKey.newTicket()), .find(record.id),
            .settleRight(record.id, third), .find(record.id), .noteUse(record.id, at: 9),
            .insert(other))
        #expect(
            answers == [
                "found 0/1", "done", "done", "found 0/0", "found 1/2", "underWay", "locked", "done", "found 1/2",
                "done",
                "done",
            ])
        #expect(try await test.summary(record.id).lastUsedAt == 9)
    }

    @Test(arguments: StoreKind.checked)
    func `when one change is bad, then the others succeed`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let other = TestStore.record()
        let answers = try await test.runAll(
            .insert(other), .insert(TestStore.record(masterKeyID: MasterKeyID(rawValue: 7))),
            .charge(record.id, StoredKey.newTicket()))
        #expect(answers == ["done", "store_unusable", "found 0/0"])
        #expect(try await test.find(record) == "found 1/1", "charged once")
        #expect(try await test.keys().map(\.record.id) == [record.id, other.id])
    }

    @Test(arguments: StoreKind.allCases)
    func `when an update only reads, then nothing is written`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let results = await test.commit(KeyUpdate(record.id, .read) { key, _ in key = nil })
        #expect(results.allSatisfy { (try? $0.get()) != nil })
        #expect(try await test.key(record.id) == StoredKey(record: record))
    }
}
