import Testing
import VaultBase

@testable import KeyServiceCore

/// The unlock of a key by its owner, in each store.
@Suite struct OwnerUnlockTests {
    private typealias Key = OPRFTestKey
    private static let now = TestStore.now
    private static let day: Int64 = 86_400

    private static func fill(_ key: Key, at time: Int64) async throws {
        for _ in 0..<3 { #expect(try await key.evaluate(at: time) != .refused(.locked)) }
        #expect(try await key.evaluate(at: time + 60) == .refused(.locked))
    }

    private static func unlock(
        _ key: Key, at time: Int64, _ limits: GuessLimits = GuessLimits()
    ) async throws -> String {
        let answer = Lock("")
        let update = KeyUpdate(key.id) { stored, _ in
            guard var known = stored else { return }
            do throws(DeviceKeeper.Refusal) {
                let wasLocked = try known.unlock(byOwnerAt: time, limits)
                answer.withLock { $0 = wasLocked ? "unlocked" : "not locked" }
                stored = known
            } catch {
                answer.withLock { $0 = "\(error)" }
            }
        }
        try await key.test.commit(update)[0].get()
        return answer.withLock { $0 }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an owner unlocks a key, then the store keeps it`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        #expect(try await Self.unlock(key, at: Self.now) == "not locked")
        try await Self.fill(key, at: Self.now)
        #expect(try await Self.unlock(key, at: Self.now + 100) == "unlocked")
        let stored = try #require(try await key.stored())
        #expect(stored.guesses.isEmpty && stored.wrongInAll == 3 && stored.ownerUnlockedAt == Self.now + 100)
        #expect(stored.owner == key.new.owner && stored.label == key.new.label)
        #expect(stored.record.content == key.new.record.content)
        #expect(try await Self.unlock(key, at: Self.now + 100) == "not locked")
    }

    @Test(arguments: StoreKind.allCases)
    func `when a key locks twice a day, then it stays locked`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        try await Self.fill(key, at: Self.now)
        #expect(try await Self.unlock(key, at: Self.now + 100) == "unlocked")
        try await Self.fill(key, at: Self.now + 200)
        for time in [300, Self.day + 99] {
            #expect(try await Self.unlock(key, at: Self.now + time) == "unlockedToday")
        }
        #expect(try await Self.unlock(key, at: Self.now + Self.day + 100) == "unlocked")
        #expect(try await key.stored()?.wrongInAll == 6)
    }

    // Row: the disk, and your login at the identity provider
    @Test func `when a thief unlocks each day, then guesses run out`() async throws {
        let key = try await Key.live(try await StoreKind.memory.make())
        var (guesses, time) = (0, Self.now)
        var last = ""
        for _ in 0..<200 {
            try await Self.fill(key, at: time)
            guesses += 3
            time += Self.day
            last = try await Self.unlock(key, at: time)
            if last != "unlocked" { break }
        }
        #expect(last == "guessesSpent" && guesses == 99)
        // An operator who unlocks the key begins again.
        try await key.test.store.unlock(keyID: key.id)
        #expect(try await key.stored()?.wrongInAll == 0)
    }
}
