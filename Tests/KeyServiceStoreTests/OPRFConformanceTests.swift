import Testing

@testable import KeyServiceCore

/// What each store does with keys of the protocol's version 2: each state and event.
@Suite struct OPRFConformanceTests {
    private typealias Key = OPRFTestKey
    private static let now = TestStore.now

    private static func prepared(_ kind: StoreKind) async throws -> TestStore {
        let test = try await kind.make()
        try await test.store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3]))
        return test
    }

    @Test(arguments: StoreKind.allCases)
    func `when a new key is unconfirmed, then evaluation is refused`(kind: StoreKind) async throws {
        let key = Key(try await Self.prepared(kind))
        #expect(try await key.evaluate() == .unauthorized)
        #expect(try await key.stored() == nil, "only a creation adds a key")
        for _ in 1...2 { #expect(try await key.create() == .done) }
        #expect(try await key.stored() == key.new)
        #expect(try await Key(key.test, id: key.id).create() == .exists)
        #expect(try await key.evaluate() == .refused(.unfinished))
        #expect(try await key.stored() == key.new)
        #expect(try await key.confirm([Key.random(16), key.new.guesses[0].ticket], at: 99) == .done)
        var live = key.new
        (live.state, live.guesses, live.lastUsedAt) = (.live, [], 99)
        live.record.details = .oprf(endKey: key.new.endKey, confirmKey: key.confirmKey)
        #expect(try await key.stored() == live)
        #expect(try await Key(key.test, id: key.id).confirm([]) == .refused(.conflict))
        #expect(try await key.create() == .exists)
        #expect(try await key.stored() == live)
    }

    @Test(arguments: StoreKind.allCases)
    func `when an unfinished key ends, then nothing is left`(kind: StoreKind) async throws {
        let key = Key(try await Self.prepared(kind))
        #expect(try await key.create() == .done)
        #expect(try await key.end() == .done)
        #expect(try await key.stored() == nil)
        #expect(try await key.test.keys().isEmpty)
        #expect(try await key.end() == .unauthorized)
        #expect(try await key.create() == .done, "its ticket is free again")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a guess is unconfirmed, then it stays open`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let guesses = (0..<3).map { Key.newGuess(at: Self.now + $0) }
        for (index, one) in guesses.enumerated() {
            #expect(
                try await key.evaluate(one.blinded, ticket: one.ticket, at: one.openedAt)
                    == .tried(ticket: one.ticket, open: index + 1))
        }
        #expect(try await key.evaluate(at: Self.now + 11) == .refused(.busy))
        #expect(try await key.evaluate(at: Self.now + 12) == .refused(.locked))
        #expect(
            try await key.evaluate(guesses[1].blinded, at: Self.now + 12) == .tried(ticket: guesses[1].ticket, open: 3),
            "the same element is the same guess, also at the limit")
        #expect(try await key.stored()?.guesses == guesses)
        #expect(try await key.confirm([guesses[2].ticket, Key.random(16), guesses[0].ticket], at: 77) == .done)
        let stored = try #require(try await key.stored())
        #expect(stored.guesses == [guesses[1]])
        #expect(stored.lastUsedAt == 77)
        #expect(try await key.confirm([guesses[0].ticket], at: 78) == .done)
        #expect(try await key.stored() == stored, "an old ticket gives nothing back")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key ends, then its secret part is erased`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let one = Key.newGuess()
        _ = try await key.evaluate(one.blinded, ticket: one.ticket)
        let content = try #require(try await key.stored()).record.content
        for _ in 1...2 { #expect(try await key.end() == .done) }
        let ended = try #require(try await key.stored())
        #expect(ended.state == .ended && ended.guesses.isEmpty)
        #expect(ended.record.content == Array(content.prefix(72)), "twice the end is no quarter")
        #expect(ended.owner == key.new.owner && ended.label == key.new.label)
        #expect(try await key.evaluate(one.blinded) == .refused(.gone(.ended)))
        #expect(try await key.confirm([one.ticket]) == .refused(.gone(.ended)))
        #expect(try await key.create() == .exists)
        #expect(try await key.stored() == ended)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key stays locked long, then evaluation keeps it`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        for _ in 1...3 { _ = try await key.evaluate() }
        let locked = try await key.stored()
        // The clock is perhaps five years ahead.
        #expect(try await key.evaluate(at: Self.now + 5 * 365 * 86400) == .refused(.locked))
        #expect(try await key.stored() == locked)
        try await key.test.store.unlock(keyID: key.id)
        if case .tried = try await key.evaluate() {} else { Issue.record("The key stays locked.") }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a record has another version, then calls ignore it`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let test = key.test
        _ = try await key.evaluate()
        let (stored, v1) = (try await key.stored(), TestStore.record())
        #expect(try await test.run(.insert(v1)) == "done")
        var same = v1
        same.id = key.id
        #expect(try await test.run(.insert(same)) == "exists")
        #expect(try await test.find(same) == "no such key")
        #expect(try await test.guess(same) == "no such key")
        #expect(try await key.stored() == stored)

        let other = Key(test, id: v1.id)
        try await test.guessWrong(v1, times: 1)
        let answers = [
            try await other.create(), try await other.evaluate(), try await other.confirm([]), try await other.end(),
        ]
        #expect(answers == Array(repeating: .unauthorized, count: 4))
        #expect(try await test.find(v1) == "found 1/1")
        #expect(try await test.key(v1.id).record == v1)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a batch has many changes, then their order stays`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let (test, v1, other) = (key.test, TestStore.record(), Key(key.test))
        let one = Key.newGuess()
        let answers = (0..<9).map { _ in Key.LastAnswer() }
        var clash = v1
        clash.id = other.id
        let tickets = [StoredKey.newTicket(), StoredKey.newTicket()]
        let calls = [
            GuessCall.insert(v1), .charge(v1.id, tickets[0]), .insert(clash), .insert(clash),
            .charge(v1.id, tickets[1]), .find(v1.id),
        ]
        let results = await test.commit(
            calls[0].update, Key.update(key.id, into: answers[0], Key.evaluation(one.blinded, ticket: one.ticket)),
            Key.update(key.id, into: answers[1], Key.evaluation(one.blinded)), calls[1].update,
            KeyUpdate(key.id) { _, _ in throw KeyServiceServerError.noSuchKey },
            Key.update(key.id, into: answers[2], Key.evaluation(Key.random(32))),
            Key.update(other.id, mayAdd: true, into: answers[3], other.creation), calls[2].update,
            Key.update(other.id, into: answers[4], Key.ending),
            Key.update(other.id, into: answers[5], Key.evaluation(Key.random(32))), calls[3].update,
            Key.update(other.id, mayAdd: true, into: answers[6], other.creation),
            Key.update(key.id, into: answers[7], key.confirmation([one.ticket])), calls[4].update, calls[5].update)
        let texts = zip(calls, [0, 3, 7, 10, 13, 14]).map { $0.text(results[$1]) }
        #expect(texts == ["done", "found 0/0", "exists", "done", "found 0/1", "found 2/2"])
        #expect(throws: KeyServiceServerError.self) { try results[4].get() }
        #expect(results.enumerated().allSatisfy { $0 == 4 || (try? $1.get()) != nil })
        #expect(
            answers.map(\.value) == [
                .tried(ticket: one.ticket, open: 1), .tried(ticket: one.ticket, open: 1),
                answers[2].value, .done, .done, .unauthorized, .unauthorized, .done,
                .unauthorized,
            ])
        if case .tried(_, let open) = answers[2].value { #expect(open == 2) } else { Issue.record("no guess") }
        #expect(try await key.stored()?.guesses.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a batch remakes a key, then it is new`(kind: StoreKind) async throws {
        let test = try await Self.prepared(kind)
        let (old, new) = (Key(test), Key(test))
        let again = Key(test, id: old.id)
        let ignored = Key.LastAnswer()
        #expect(try await old.create() == .done)
        let outcomes = await test.commit(
            Key.update(old.id, into: ignored, Key.ending),
            Key.update(old.id, mayAdd: true, into: ignored, again.creation),
            Key.update(new.id, mayAdd: true, into: ignored, new.creation),
            Key.update(new.id, into: ignored, Key.ending))
        for outcome in outcomes { try outcome.get() }
        #expect(try await old.stored() == again.new)
        #expect(try await new.stored() == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `when one update fails, then the other one succeeds`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let (before, ignored) = (try await key.stored(), Key.LastAnswer())
        let outcomes = await key.test.commit(
            KeyUpdate(key.id) { key, _ in
                key?.end(.ended)
                throw KeyServiceServerError(.invalidRequest, "no")
            },
            Key.update(key.id, into: ignored, Key.evaluation(Key.random(32))))
        let error = #expect(throws: KeyServiceServerError.self) { try outcomes[0].get() }
        #expect(error?.code == .invalidRequest && error?.isOutcomeUnknown == false)
        try outcomes[1].get()
        #expect(try await key.stored()?.state == before?.state)
        #expect(try await key.stored()?.guesses.count == 1)
    }

    @Test(arguments: StoreKind.checked)
    func `when writing a key fails, then no part remains`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let test = key.test
        // A master key that is not on the list.
        let unsealed = Key(test, masterKeyID: MasterKeyID(rawValue: 7))
        let good = Key(test)
        let ignored = Key.LastAnswer()
        let outcomes = await test.commit(
            Key.update(unsealed.id, mayAdd: true, into: ignored, unsealed.creation),
            Key.update(good.id, mayAdd: true, into: ignored, good.creation))
        #expect(throws: KeyServiceServerError.self) { try outcomes[0].get() }
        try outcomes[1].get()
        #expect(try await test.keys().map(\.record.id) == [key.id, good.id], "no half of a key")
    }
}
