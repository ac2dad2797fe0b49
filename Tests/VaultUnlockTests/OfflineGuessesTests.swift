import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// The delay between guesses that no key service counts.
@Suite struct OfflineGuessesTests {
    private struct Failure: Error {}
    private let alice = AccountID(issuer: issuer, subject: "alice")
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Makes a wrong guess.
    ///
    /// - Returns: the number of seconds to wait, if the guess was not allowed.
    private func guessWrong(_ guesses: OfflineGuesses, at now: Date) async throws -> Int64? {
        do {
            let result: Int? = try await guesses.charge(now: now) { nil }
            #expect(result == nil)
            return nil
        } catch let error as StoreError where error.code == .tooManyGuesses {
            return error.retryAfter?.components.seconds
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when offline guesses are wrong, then the wait doubles`(kind: StoreKind) async throws {
        try await kind.withStore { (store) async throws in
            var now = start
            for _ in 0..<3 {
                #expect(try await guessWrong(OfflineGuesses(store: store, account: alice), at: now) == nil)
            }
            for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600] as [Int64] {
                // Each guess as from another process.
                let guesses = OfflineGuesses(store: store, account: alice)
                #expect(try await guessWrong(guesses, at: now) == wait)
                now += TimeInterval(wait) - 0.5
                // A guess that comes too early does not extend the delay.
                #expect(try await guessWrong(guesses, at: now) == 1)
                now += 0.5
                #expect(try await guessWrong(guesses, at: now) == nil)
            }
        }
    }

    @Test func `when a program restarts, then the offline wait remains`() async throws {
        try await withTemporaryFolder { folder in
            for _ in 0..<3 {
                let guesses = OfflineGuesses(store: try SQLiteStore(folder: folder), account: alice)
                #expect(try await guessWrong(guesses, at: start) == nil)
            }
            let guesses = OfflineGuesses(store: try SQLiteStore(folder: folder), account: alice)
            #expect(try await guessWrong(guesses, at: start) == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an offline guess is right, then the count restarts`(kind: StoreKind) async throws {
        try await kind.withStore { (store) async throws in
            let guesses = OfflineGuesses(store: store, account: alice)
            for _ in 0..<10 {
                await #expect(throws: Failure.self) {
                    try await guesses.charge(now: start) { () -> Int? in throw Failure() }
                }
            }
            for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start) == nil) }
            #expect(try await guessWrong(guesses, at: start) == 1)
            #expect(try await guesses.charge(now: start + 1) { 7 } == 7)
            for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start + 1) == nil) }
            #expect(try await guessWrong(guesses, at: start + 1) == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a guess is cancelled, then it does not count`(kind: StoreKind) async throws {
        try await kind.withStore { (store) async throws in
            let guesses = OfflineGuesses(store: store, account: alice)
            for _ in 0..<5 {
                let task = Task { [start] in
                    try await guesses.charge(now: start) { () async throws -> Int? in
                        withUnsafeCurrentTask { $0?.cancel() }
                        throw CancellationError()
                    }
                }
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start) == nil) }
            let task = Task { [start] in
                try await guesses.charge(now: start + 1) { () async throws -> Int? in
                    withUnsafeCurrentTask { $0?.cancel() }
                    return 7
                }
            }
            #expect(try await task.value == 7)
            for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start + 1) == nil) }
            #expect(try await guessWrong(guesses, at: start + 1) == 1)
        }
    }

    /// The delay in normal use: around an offline keyslot.
    private func open(
        _ slot: Keyslot, of fixture: KeyslotFixture, _ password: String, _ guesses: OfflineGuesses, now: Date
    ) async throws -> VaultKey? {
        try await guesses.charge(now: now) { try await fixture.openOffline(slot, password) }
    }

    @Test func `when an offline keyslot gets wrong guesses, then opening waits`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.makeOffline("tea at half past four")
        let guesses = OfflineGuesses(store: InMemoryStore(), account: fixture.account.id)
        for _ in 0..<3 {
            let key = try await open(slot, of: fixture, "wrong", guesses, now: start)
            #expect(key == nil)
        }
        let password = "tea at half past four"
        #expect(
            await thrown(\StoreError.code) { _ = try await open(slot, of: fixture, password, guesses, now: start) }
                == .tooManyGuesses)
        let key = try await open(slot, of: fixture, password, guesses, now: start + 1)
        #expect(try await key?.isEqual(to: fixture.vaultKey) == true)
        // Damage to a slot does not count as a wrong guess.
        for _ in 0..<5 {
            let damaged = slot.changed(kind: .pin)
            #expect(
                await thrown(\StoreError.code) {
                    _ = try await open(damaged, of: fixture, password, guesses, now: start + 1)
                }
                    == .corrupt)
        }
    }

    @Test func `when a guess begins, then the count already includes it`() async throws {
        let store = InMemoryStore()
        let guesses = OfflineGuesses(store: store, account: alice)
        for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start) == nil) }
        _ = try await guesses.charge(now: start + 1) { () async throws -> Int? in
            // The process could end here.
            #expect(try await guessWrong(OfflineGuesses(store: store, account: alice), at: start + 1) == 2)
            return 1
        }
    }

    @Test func `when the clock is set back, then the wait remains`() async throws {
        let guesses = OfflineGuesses(store: InMemoryStore(), account: alice)
        var now = start
        for _ in 0..<30 {
            while let wait = try await guessWrong(guesses, at: now) { now += TimeInterval(wait) }
        }
        #expect(try await guessWrong(guesses, at: now) == 3600)
        let past = now - 10_000_000
        #expect(try await guessWrong(guesses, at: past) == 3600)
        #expect(try await guessWrong(guesses, at: past + 1800) == 1800)
        #expect(try await guessWrong(guesses, at: past + 3600) == nil)
    }

    @Test func `when one account must wait, then others do not`() async throws {
        let store = InMemoryStore()
        let guesses = OfflineGuesses(store: store, account: alice)
        for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start) == nil) }
        let bob = OfflineGuesses(store: store, account: AccountID(issuer: issuer, subject: "bob"))
        #expect(try await guessWrong(bob, at: start) == nil)
        for text in ["", "nonsense", "{\"wrong\":-9223372036854775808,\"lastAt\":0}"] {
            try await store.withRecord(alice.recordPrefix + "offline-guesses") { $0 = Array(text.utf8) }
            #expect(try await guessWrong(guesses, at: start) == nil, "\(text)")
        }
        try await store.withRecord(alice.recordPrefix + "offline-guesses") {
            $0 = Array("{\"wrong\":9223372036854775807,\"lastAt\":1e300}".utf8)
        }
        #expect(try await guessWrong(guesses, at: start) == 3600)
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account is removed, then its guess record goes`(kind: StoreKind) async throws {
        try await kind.withStore { (store) async throws in
            let bob = Account.example("bob").id
            try await store.apply([.putAccount(.example("alice"))], to: alice)
            try await store.apply([.putAccount(.example("bob"))], to: bob)
            for id in [alice, bob] {
                let guesses = OfflineGuesses(store: store, account: id)
                for _ in 0..<3 { #expect(try await guessWrong(guesses, at: start) == nil) }
            }
            try await store.withRecord("attempts") { $0 = [1] }
            try await store.apply([.removeAccount], to: alice)
            #expect(try await guessWrong(OfflineGuesses(store: store, account: alice), at: start) == nil)
            #expect(try await guessWrong(OfflineGuesses(store: store, account: bob), at: start) == 1)
            #expect(try await store.withRecord("attempts") { $0 } == [1])
        }
    }
}
