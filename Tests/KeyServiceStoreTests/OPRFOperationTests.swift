import Foundation
import Testing
import VaultCrypto

@testable import KeyServiceCore

/// What each store does with keys of the protocol's version 2 for operators.
@Suite struct OPRFOperationTests {
    private typealias Key = OPRFTestKey
    private static let now = TestStore.now

    private static func expectNoSuchKey(_ call: () async throws -> Void) async {
        let error = await #expect(throws: KeyServiceServerError.self) { try await call() }
        #expect(error?.code == .noSuchKey)
    }

    private static func summary(_ key: Key) async throws -> KeyRecordSummary {
        try await key.test.summary(key.id)
    }

    private static func fill(_ key: Key, count: Int = 3, at time: Int64 = now) async throws {
        for _ in 0..<count { #expect(try await key.evaluate(at: time) != .refused(.locked)) }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a live key is unlocked, then its guesses return`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        try await Self.fill(key)
        var summary = try await Self.summary(key)
        #expect(summary.lock == .locked)
        #expect(summary.wrongGuesses == GuessCount(inARow: 3, inAll: 0, lastWrongAt: Self.now))
        #expect(summary.lastUsedAt == Self.now)
        let store = key.test.store
        try await store.unlock(keyID: key.id)
        summary = try await Self.summary(key)
        #expect(summary.lock == nil)
        #expect(summary.wrongGuesses == GuessCount())
        #expect(try await key.stored()?.guesses.isEmpty == true)
        #expect(try await key.end() == .done)
        let error = await #expect(throws: KeyServiceServerError.self) { try await store.unlock(keyID: key.id) }
        #expect(error?.code == .noSuchKey)
        // The list of keys still shows the key.
        #expect(error?.description == "The key has ended. Nothing unlocks it.")
        let unfinished = Key(key.test)
        #expect(try await unfinished.create() == .done)
        await Self.expectNoSuchKey { try await store.unlock(keyID: unfinished.id) }
        #expect(try await unfinished.stored() == unfinished.new)
        await Self.expectNoSuchKey { try await store.unlock(keyID: "unknown") }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key is revoked, then its content is erased`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let (store, ended, unfinished) = (key.test.store, try await Key.live(key.test), Key(key.test))
        try await Self.fill(key, count: 2)
        #expect(try await ended.end() == .done)
        #expect(try await unfinished.create() == .done)
        for _ in 1...2 {
            for one in [key, ended, unfinished] { try await store.revoke(keyID: one.id) }
        }
        for one in [key, unfinished] {
            let stored = try #require(try await one.stored())
            #expect(stored.state == .revoked && stored.guesses.isEmpty)
            #expect(stored.record.content == Array(one.new.record.content.prefix(72)), "twice is no quarter")
            #expect(stored.label == one.new.label && stored.owner == one.new.owner)
            #expect(try await Self.summary(one).lock == .revoked)
            #expect(try await one.evaluate() == .refused(.gone(.revoked)))
            await Self.expectNoSuchKey { try await store.unlock(keyID: one.id) }
        }
        #expect(try await ended.stored()?.state == .ended, "a final state stays")
        #expect(try await ended.stored()?.record.content.count == 72)
    }

    @Test func `when a key is erased, then no file holds it`() async throws {
        let test = try await StoreKind.sqlite.make()
        let (revoked, destroyed, kept) = (
            try await Key.live(test), try await Key.live(test), try await Key.live(test)
        )
        func isInFiles(_ key: Key) throws -> Bool {
            try test.databaseBytes().range(of: Data(key.new.record.content.suffix(72))) != nil
        }
        #expect(try isInFiles(revoked) && isInFiles(destroyed))
        try await test.store.revoke(keyID: revoked.id)
        #expect(try !isInFiles(revoked) && isInFiles(destroyed))
        try await Self.fill(destroyed)
        _ = try await test.store.sweep(unfinishedSince: 0, lockedSince: Self.now)
        #expect(try !isInFiles(destroyed))
        #expect(try isInFiles(kept), "the search works")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key is deleted, then its guesses are gone`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let one = Key.newGuess()
        _ = try await key.evaluate(one.blinded, ticket: one.ticket)
        let store = key.test.store
        _ = try await store.delete(keyID: key.id)
        #expect(try await key.evaluate() == .unauthorized)
        await Self.expectNoSuchKey { _ = try await store.delete(keyID: key.id) }
        let other = try await Key.live(key.test)
        #expect(try await other.evaluate(one.blinded, ticket: one.ticket) == .tried(ticket: one.ticket, open: 1))
    }

    @Test(arguments: StoreKind.allCases)
    func `when a sweep runs, then only due keys are taken`(kind: StoreKind) async throws {
        let locked = try await Key.live(try await kind.make())
        let test = locked.test
        let (recent, free) = (try await Key.live(test), try await Key.live(test))
        try await Self.fill(locked, at: 100)
        try await Self.fill(recent, count: 2, at: 100)
        try await Self.fill(recent, count: 1, at: 101)
        try await Self.fill(free, count: 2, at: 100)
        let new = Key(test)
        #expect(try await new.create() == .done)
        let v1 = TestStore.record()
        #expect(try await test.run(.insert(v1)) == "done")
        try await test.guessWrong(v1, times: 3)

        var swept = try await test.store.sweep(unfinishedSince: Self.now - 1, lockedSince: 99)
        #expect(swept == (0, 0))
        swept = try await test.store.sweep(unfinishedSince: Self.now, lockedSince: 100)
        #expect(swept == (1, 1))
        #expect(try await new.stored() == nil)
        let destroyed = try #require(try await locked.stored())
        #expect(destroyed.state == .destroyed && destroyed.guesses.isEmpty && destroyed.record.content.count == 72)
        #expect(try await Self.summary(locked).lock == .destroyed)
        #expect(try await recent.stored()?.guesses.count == 3)
        #expect(try await free.stored()?.guesses.count == 2)
        swept = try await test.store.sweep(unfinishedSince: Self.now, lockedSince: 100)
        #expect(swept == (0, 0), "nothing twice")
        #expect(try await test.summary(v1.id).lock == .locked)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key stays unclaimed too long, then it ends`(kind: StoreKind) async throws {
        let nobody = StoredKey.nobodyYet
        let test = try await kind.make()
        let unclaimed = try await Key.live(test, createdAt: 100, owner: nobody)
        let (late, claimed, older) = (
            try await Key.live(test, createdAt: 101, owner: nobody),
            try await Key.live(test, createdAt: 100, owner: nobody), try await Key.live(test, createdAt: 1, owner: nil)
        )
        let (person, other) = (Key.random(32), Key.random(32))
        #expect(try await claimed.claim(for: person) == .done)
        #expect(try await claimed.claim(for: other) == .refused(.conflict))
        try await Self.fill(unclaimed, count: 1)

        #expect(try await test.store.endUnclaimedKeys(since: 99) == 0)
        #expect(try await test.store.endUnclaimedKeys(since: 100) == 1)
        let ended = try #require(try await unclaimed.stored())
        #expect(ended.state == .ended && ended.guesses.isEmpty && ended.record.content.count == 72)
        #expect(try await unclaimed.claim(for: person) == .refused(.gone(.ended)))
        for key in [late, claimed, older] { #expect(try await key.stored()?.state == .live) }
        #expect(try await test.store.keys(ofOwner: person).undamagedKeys().map(\.record.id) == [claimed.id])
        #expect(try await late.claim(for: person) == .done)
        #expect(try await test.store.endUnclaimedKeys(since: Self.now) == 0, "nothing twice, and nothing claimed")
    }

    @Test(arguments: StoreKind.allCases)
    func `when ended unclaimed keys fill a page, then others end`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let next = try await Key.live(test, createdAt: 100, owner: StoredKey.nobodyYet)
        let ended = (0..<1001).map { _ in
            var key = Key(test, owner: StoredKey.nobodyYet).new
            key.end(.ended)
            return key
        }
        #expect(try await test.store.put(ended, whileRetiredBecause: nil))
        let last = try await Key.live(test, createdAt: 100, owner: StoredKey.nobodyYet)
        #expect(try await test.store.endUnclaimedKeys(since: 100) == 2)
        for key in [next, last] { #expect(try await key.stored()?.state == .ended) }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a rollback is accepted, then one guess is left`(kind: StoreKind) async throws {
        let empty = try await Key.live(try await kind.make())
        let test = empty.test
        let (one, full, ended) = (try await Key.live(test), try await Key.live(test), try await Key.live(test))
        let unfinished = Key(test)
        #expect(try await unfinished.create() == .done)
        let unclaimed = try await Key.live(test, createdAt: 100, owner: StoredKey.nobodyYet)
        try await Self.fill(one, count: 1)
        try await Self.fill(full)
        #expect(try await ended.end() == .done)
        let (known, before) = (try await one.stored()?.guesses.first, try await full.stored())
        for _ in 1...2 { try await test.store.acceptRollback(generation: 1000, now: 2_000_000_000) }
        #expect(try await test.store.state().generation == 1000)
        var tickets: Set<[UInt8]> = []
        #expect(try await test.store.endUnclaimedKeys(since: Self.now) == 0, "its owner perhaps claimed it before")
        for key in [empty, one, unclaimed] {
            let guesses = try #require(try await key.stored()).guesses
            #expect(guesses.count == 2)
            for filled in guesses where filled != known {
                #expect(filled.ticket.count == 16 && filled.blinded.count == 32 && filled.openedAt == 2_000_000_000)
                tickets.insert(filled.ticket)
            }
        }
        #expect(tickets.count == 5)
        #expect(try await one.stored()?.guesses.first == known)
        #expect(try await full.stored() == before)
        #expect(try await unfinished.stored() == nil, "a recorded confirm would finish it with all its guesses")
        #expect(try await ended.stored()?.guesses.isEmpty == true)
        try await Self.fill(empty, count: 1, at: 2_000_000_000)
        #expect(try await empty.evaluate(at: 2_000_000_010) == .refused(.locked))
    }

    @Test(arguments: StoreKind.allCases)
    func `when the limit falls, then an unlocked key stays unlocked`(kind: StoreKind) async throws {
        let full = try await Key.live(try await kind.make())
        let half = try await Key.live(full.test)
        let store = full.test.store
        try await store.setLimits(GuessLimits(inARow: 3, inAll: 100))
        try await Self.fill(full)
        for time in 1...2 { try await Self.fill(half, count: 1, at: Self.now + Int64(time)) }
        let before = try #require(try await half.stored())
        try await store.setLimits(GuessLimits(inARow: 2, inAll: 100))
        #expect(try await Self.summary(full).lock == .locked)
        #expect(try await Self.summary(half).lock == nil, "it had guesses left")
        let after = try #require(try await half.stored())
        #expect(after.guesses == Array(before.guesses.prefix(1)), "one guess is left")
        try await store.setLimits(GuessLimits(inARow: 6, inAll: 100))
        #expect(try await Self.summary(full).lock == .locked, "a locked key stays locked")
        #expect(try await half.stored() == after)
    }

    @Test(arguments: StoreKind.allCases)
    func `when keys are put, then they come back complete`(kind: StoreKind) async throws {
        let test = try await kind.make()
        try await test.store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3]))
        let keys = Self.manyKeys(test)
        for _ in 1...2 { #expect(try await test.store.put(keys, whileRetiredBecause: nil)) }
        #expect(try await test.keys() == keys)
        var pages: [StoredKey] = []
        var row: Int64?
        repeat {
            let page = try await test.store.page(after: row, count: 3, of: .all)
            #expect(page.keys.count <= 3)
            pages += try page.undamagedKeys()
            row = page.last
        } while row != nil
        #expect(pages == keys)
        let unsettled = try await test.store.page(after: nil, count: 99, of: .unsettled).undamagedKeys()
        #expect(unsettled == keys.filter { $0.state == .unfinished || !$0.guesses.isEmpty })
        // Another state of the first key, without owner, label and guesses.
        var fresh = keys[0]
        (fresh.owner, fresh.label, fresh.guesses, fresh.lastUsedAt) = (nil, nil, [], nil)
        #expect(try await !test.store.put([fresh], whileRetiredBecause: "It moves."))
        #expect(try await test.store.put([fresh], whileRetiredBecause: nil))
        #expect(Set(try await test.keys()) == Set([fresh] + keys.dropFirst()))
    }

    @Test(arguments: StoreKind.allCases)
    func `when a page is large, then all guesses are included`(kind: StoreKind) async throws {
        let test = try await kind.make()
        try await test.store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3]))
        let keys = (0..<1200).map { _ in Key(test).new }
        #expect(try await test.store.put(keys, whileRetiredBecause: nil))
        #expect(try await test.keys() == keys)
    }

    /// A key in each state, and one of version 1.
    private static func manyKeys(_ test: TestStore) -> [StoredKey] {
        let states: [StoredKey.State] = [.live, .live, .unfinished, .ended, .revoked, .destroyed, .live]
        var keys = states.enumerated().map { number, state in
            var key = Key(test).new
            key.state = state
            key.guesses = state == .live ? (0..<number).map { Key.newGuess(at: now + Int64($0)) } : []
            if state != .unfinished {
                key.record.details = .oprf(endKey: key.endKey, confirmKey: Key.random(32))
                key.lastUsedAt = now + 9
            }
            if state.isFinal { key.record.content.removeLast(72) }
            if number % 3 == 1 { (key.owner, key.label) = (nil, nil) }
            return key
        }
        let guesses = [
            StoredKey.Guess(ticket: Key.random(16), openedAt: 3),
            StoredKey.Guess(ticket: Key.random(16), openedAt: now, isUnderWay: true),
        ]
        keys.append(StoredKey(record: TestStore.record(), guesses: guesses, wrongInAll: 9, lastUsedAt: 4))
        return keys
    }

    @Test(arguments: StoreKind.allCases, StoreKind.allCases)
    func `when keys move, then guesses, owners and labels move too`(from: StoreKind, to: StoreKind) async throws {
        let (source, target) = (try await from.make(), try await to.make())
        try await source.store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3]))
        try await source.store.setLimits(GuessLimits(inARow: 6, inAll: 50))
        let keys = Self.manyKeys(source)
        #expect(try await source.store.put(keys, whileRetiredBecause: nil))
        let move = StoreMove(folder: "/srv/keys", source: source.store, target: target.store, report: { _ in })
        #expect(try await move.run() == keys.count)
        #expect(try await target.keys() == keys)
        #expect(try await target.summary(keys[6].record.id).lock == .locked, "one of them is full")
    }

    @Test(arguments: StoreKind.allCases)
    func `when the master key rotates, then each state is resealed`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let (old, new) = (try MasterKey.random(), try MasterKey.random())
        try await test.store.addMasterKey(old.makeEntry())
        let requestKeys = (0..<3).map { _ in Key.random(32) }
        let functionKeys = (0..<3).map { _ in Key.random(32) }
        var keys: [Key] = []
        for (requestKey, functionKey) in zip(requestKeys, functionKeys) {
            let id = TestStore.record().id
            let content = try OPRFContent.sealed(
                requestKey: SecretBytes(copying: requestKey), key: SecretBytes(copying: functionKey), keyID: id, old)
            keys.append(Key(test, id: id, masterKeyID: old.id, content: content))
            #expect(try await keys.last?.create() == .done)
        }
        for key in keys.dropFirst() { #expect(try await key.confirm([key.new.guesses[0].ticket]) == .done) }
        #expect(try await keys[2].end() == .done)
        let before = try await keys[1].stored()
        let outcome = try await MasterKeyRotation(test.store, MasterKeys(new, old: [old])).run()
        #expect(outcome.resealed == 3 && outcome.removed == [old.id])

        let (ours, theirs) = (MasterKeys(new), MasterKeys(old))
        for (index, key) in keys.enumerated() {
            let stored = try #require(try await key.stored())
            #expect(try Self.bytes(OPRFContent.requestKey(of: stored, ours)) == requestKeys[index])
            if !stored.state.isFinal {
                #expect(try Self.bytes(OPRFContent.key(of: stored, ours)) == functionKeys[index])
            }
            var forged = stored
            forged.record.masterKeyID = old.id
            #expect(throws: KeyServiceServerError.self) { _ = try OPRFContent.requestKey(of: stored, theirs) }
            #expect(throws: KeyServiceServerError.self) { _ = try OPRFContent.requestKey(of: forged, theirs) }
        }
        #expect(try await keys.last?.stored()?.state == .ended)
        var same = try #require(try await keys[1].stored())
        (same.record.content, same.record.masterKeyID) = (before?.record.content ?? [], old.id)
        #expect(same == before, "only the seal is new")
    }

    private static func bytes(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

    @Test(arguments: StoreKind.checked)
    func `when one key is damaged, then the others still work`(kind: StoreKind) async throws {
        let good = try await Key.live(try await kind.make())
        let (test, v1, bad) = (good.test, TestStore.record(), Key(good.test))
        var damaged = bad.new
        damaged.record.details = .oprf(endKey: [1, 2, 3], confirmKey: nil)
        #expect(try await test.store.put([damaged], whileRetiredBecause: nil))
        #expect(try await test.run(.insert(v1)) == "done")
        let (ignored, charge) = (Key.LastAnswer(), GuessCall.charge(v1.id, StoredKey.newTicket()))
        let outcomes = await test.commit(
            Key.update(bad.id, into: ignored, Key.evaluation(Key.random(32))),
            Key.update(good.id, into: ignored, Key.evaluation(Key.random(32))), charge.update)
        let error = #expect(throws: KeyServiceServerError.self) { try outcomes[0].get() }
        #expect(error?.code == .storeUnusable && error?.isOutcomeUnknown == false)
        try outcomes[1].get()
        #expect(charge.text(outcomes[2]) == "found 0/0")
        let page = try await test.store.page(after: nil, count: 9, of: .all)
        #expect(page.keys.map(\.key.record.id) == [good.id, v1.id] && page.damaged == [bad.id])
        #expect(page.keys[0].key.guesses.count == 1)
        // A rule for all keys leaves it alone, and operators can still get rid of it.
        try await test.store.setLimits(GuessLimits(inARow: 5, inAll: 100))
        _ = try await test.store.sweep(unfinishedSince: Self.now, lockedSince: Self.now)
        _ = try await test.store.delete(keyID: bad.id)
        #expect(try await test.keys().count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `when the limit rises, then a locked key stays locked`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let (full, half) = (try await OPRFTestKey.live(test), try await OPRFTestKey.live(test))
        for _ in 0..<3 { _ = try await full.evaluate() }
        for _ in 0..<2 { _ = try await half.evaluate() }
        let limits = try await test.store.state().limits
        // The first limits of a store change nothing.
        try await test.store.setLimits(limits)
        try await test.store.setLimits(GuessLimits(inARow: 5, inAll: limits.inAll))
        #expect(try await full.evaluate(at: TestStore.now + 60) == .refused(.locked))
        let (ofFull, ofHalf) = (try await full.stored()?.guesses.count, try await half.stored()?.guesses.count)
        #expect(ofFull == 5)
        #expect(ofHalf == 2)
        try await test.store.unlock(keyID: full.id)
        if case .tried = try await full.evaluate() {} else { Issue.record("The key stays locked.") }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an owner has keys, then the store finds them`(kind: StoreKind) async throws {
        let test = try await kind.make()
        let keys = [try await OPRFTestKey.live(test), try await OPRFTestKey.live(test)]
        let (owner, other) = (try #require(keys[0].new.owner), try #require(keys[1].new.owner))
        _ = try await keys[0].evaluate()
        let found = try await test.store.keys(ofOwner: owner).undamagedKeys()
        #expect(found.map(\.record.id) == [keys[0].id])
        #expect(try await found.first == keys[0].stored())
        #expect(try await test.store.keys(ofOwner: other).undamagedKeys().map(\.record.id) == [keys[1].id])
        #expect(try await test.store.keys(ofOwner: OPRFTestKey.random(32)).keys.isEmpty)
    }
}
