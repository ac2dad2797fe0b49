import KeyServiceServer
import Testing

/// What each store does with guesses.
@Suite struct GuessConformanceTests {
    private static let now = TestStore.now
    private static let later = TestStore.later

    @Test(arguments: StoreKind.allCases) func aRecordComesBackAsItWas(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (_, found) = try await test.charge(record)
        #expect(found.record == record)
        #expect(found.reference.id == record.id)
        #expect(found.limits == GuessLimits(inARow: 3, inAll: 100))
    }

    @Test(arguments: StoreKind.allCases) func theSameRecordMayBeInsertedAgainButNoOther(kind: StoreKind) async throws {
        let test = try await kind.make()
        var record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        #expect(try await test.change(.insert(record)) == "done")
        #expect(try await test.find(record) == "found 1/1", "the count stays")
        record.content[0] ^= 1
        #expect(try await test.change(.insert(record)) == "exists")
    }

    @Test(arguments: StoreKind.allCases) func anUnknownKeyIsMissing(kind: StoreKind) async throws {
        let test = try await kind.make()
        let other = TestStore.record()
        #expect(try await test.find(other) == "no such key")
        #expect(try await test.tryCharge(other) == "no such key")
        let reference = KeyReference(id: other.id)
        #expect(try await test.change(.settle(reference, ticket: .random(), .wrong)) == "superseded")
        #expect(try await test.change(.noteUse(reference, time: 1)) == "done")
    }

    @Test(arguments: StoreKind.allCases) func oneTicketAtATime(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (ticket, found) = try await test.charge(record)
        #expect(found.count == GuessCount())
        #expect(try await test.tryCharge(record) == "held")
        #expect(try await test.find(record) == "found 1/1")
        #expect(try await test.change(.settle(found.reference, ticket: ticket, .wrong)) == "done")
        #expect(try await test.change(.settle(found.reference, ticket: ticket, .right(time: 5))) == "superseded")
        let second = try await test.charge(record)
        #expect(second.found.count == GuessCount(inARow: 1, inAll: 1, lastWrongAt: Self.now))
    }

    @Test(arguments: StoreKind.allCases) func anOldTicketMakesWayAndSettlesNothing(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (old, found) = try await test.charge(record)
        try test.expireTickets()
        let (new, _) = try await test.charge(record, at: Self.later)
        for result in [GuessResult.right(time: 1), .unused(lastWrongAt: nil), .wrong] {
            #expect(try await test.change(.settle(found.reference, ticket: old, result)) == "superseded")
        }
        #expect(try await test.find(record) == "found 2/2", "a late success takes back no other charge")
        #expect(try await test.change(.settle(found.reference, ticket: new, .wrong)) == "done")
    }

    @Test(arguments: StoreKind.allCases) func rightGuessesReset(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        let (ticket, found) = try await test.charge(record)
        #expect(try await test.change(.settle(found.reference, ticket: ticket, .right(time: 77))) == "done")
        let summary = try await test.summary(record)
        #expect(summary.wrongGuesses == GuessCount(inARow: 0, inAll: 2))
        #expect(summary.lastUsedAt == 77)
        #expect(summary.lock == nil)
    }

    @Test(arguments: StoreKind.allCases) func takenBackChargesLeaveTheOthers(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        var (ticket, found) = try await test.charge(record, at: 99)
        #expect(
            try await test.change(
                .settle(found.reference, ticket: ticket, .rightAndKept(lastWrongAt: 55, time: 88))) == "done")
        var summary = try await test.summary(record)
        #expect(summary.wrongGuesses == GuessCount(inARow: 1, inAll: 1, lastWrongAt: 55))
        #expect(summary.lastUsedAt == 88)
        (ticket, found) = try await test.charge(record, at: 99)
        #expect(
            try await test.change(.settle(found.reference, ticket: ticket, .unused(lastWrongAt: 56))) == "done")
        summary = try await test.summary(record)
        #expect(summary.wrongGuesses == GuessCount(inARow: 1, inAll: 1, lastWrongAt: 56))
        #expect(summary.lastUsedAt == 88)
    }

    @Test(arguments: StoreKind.allCases) func aLostAnswerIsSettledByTheKeysID(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (ticket, _) = try await test.charge(record)
        let reference = KeyReference(id: record.id)
        #expect(try await test.change(.settle(reference, ticket: ticket, .unused(lastWrongAt: nil))) == "done")
        #expect(try await test.find(record) == "found 0/0")
    }

    @Test(arguments: StoreKind.allCases) func aLimitInARowLocks(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 3)
        #expect(try await test.tryCharge(record) == "locked")
        #expect(try await test.find(record) == "locked")
        #expect(try await test.summary(record).lock == .locked)
    }

    @Test(arguments: StoreKind.allCases) func aLimitInAllLocks(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.store.setLimits(GuessLimits(inARow: 2, inAll: 3))
        for _ in 1...3 {
            let (ticket, found) = try await test.charge(record)
            try await test.change(.settle(found.reference, ticket: ticket, .wrong))
            if found.count.inAll == 2 { break }
            // A right long secret resets the count in a row only.
            try await test.change(.noteUse(found.reference, time: 1))
        }
        #expect(try await test.tryCharge(record) == "locked")
    }

    @Test(arguments: StoreKind.allCases, [GuessResult.right(time: 1), .unused(lastWrongAt: nil)])
    func theLastGuessUnlocksIfItWasNotWrong(kind: StoreKind, result: GuessResult) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        let (ticket, found) = try await test.charge(record)
        #expect(found.count.inARow == 2)
        #expect(try await test.tryCharge(record) == "held", "nobody hears \"locked\" while it may be right")
        #expect(try await test.change(.settle(found.reference, ticket: ticket, result)) == "done")
        #expect(try await test.summary(record).lock == nil)
        _ = try await test.charge(record)
    }

    @Test(arguments: StoreKind.allCases) func theLastGuessOfACrashedServiceLocks(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        _ = try await test.charge(record)
        try test.expireTickets()
        #expect(try await test.tryCharge(record, at: Self.later) == "locked")
    }

    @Test(arguments: StoreKind.allCases) func higherLimitsReopenNothing(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 2)
        try await test.store.setLimits(GuessLimits(inARow: 2, inAll: 100))
        #expect(try await test.tryCharge(record) == "locked", "a lower limit counts at once")
        try await test.store.setLimits(GuessLimits(inARow: 10, inAll: 100))
        #expect(try await test.tryCharge(record) == "locked")
        #expect(try await test.store.state().limits == GuessLimits(inARow: 10, inAll: 100))
        try await test.store.unlock(keyID: record.id)
        #expect(try await test.charge(record).found.limits.inARow == 10)
    }

    @Test(arguments: StoreKind.allCases) func longSecretsResetOnlyWhatNobodyGuesses(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        try await test.guessWrong(record, times: 1)
        let (ticket, found) = try await test.charge(record)
        try await test.change(.noteUse(found.reference, time: 44))
        #expect(try await test.find(record) == "found 2/2")
        try await test.change(.settle(found.reference, ticket: ticket, .wrong))
        try await test.change(.noteUse(found.reference, time: 45))
        #expect(try await test.find(record) == "found 0/2")
        #expect(try await test.summary(record).lastUsedAt == 45)
    }

    @Test(arguments: StoreKind.allCases) func changesOfABatchKeepTheirOrder(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let (ticket, found) = try await test.charge(record)
        let (second, third) = (GuessTicket.random(), GuessTicket.random())
        let other = TestStore.record()
        let outcomes = await test.commit(
            .charge(keyID: record.id, ticket: second, time: Self.now), .insert(other),
            .settle(found.reference, ticket: ticket, .wrong), .find(keyID: other.id),
            .charge(keyID: record.id, ticket: third, time: Self.now), .find(keyID: record.id),
            .settle(found.reference, ticket: third, .right(time: 3)), .find(keyID: record.id),
            .noteUse(found.reference, time: 9), .checkIn(time: 10), .insert(other))
        #expect(
            try outcomes.map(TestStore.text) == [
                "held", "done", "done", "found 0/0", "found 1/1", "found 2/2", "done", "found 0/1", "done",
                "checked in", "done",
            ])
        #expect(try await test.summary(record).lastUsedAt == 9)
    }

    @Test(arguments: StoreKind.checked) func oneBadChangeDoesNotFailTheOthers(kind: StoreKind) async throws {
        let test = try await kind.make()
        let record = try await test.prepared()
        let other = TestStore.record()
        let ticket = GuessTicket.random()
        let outcomes = await test.commit(
            .insert(other), .insert(TestStore.record(masterKeyID: MasterKeyID(rawValue: 7))),
            .charge(keyID: record.id, ticket: ticket, time: Self.now))
        #expect(try TestStore.text(outcomes.first) == "done")
        #expect(throws: KeyServiceServerError.self) { try outcomes[1].get() }
        #expect(try TestStore.text(outcomes.last) == "found 0/0")
        #expect(try await test.find(record) == "found 1/1", "charged once")
    }
}
