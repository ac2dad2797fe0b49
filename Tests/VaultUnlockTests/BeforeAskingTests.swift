import KeyServiceClient
import TestSupport
import Testing
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

/// What is known before a person types a secret.
struct BeforeAskingTests {
    private static let wrong = "not the password"

    private func registered() async throws -> OPRFFixture {
        let fixture = OPRFFixture()
        try await fixture.register()
        return fixture
    }

    private func refusal(_ fixture: OPRFFixture, by kind: Keyslot.Kind? = nil) async throws -> VaultError.Code? {
        let account = try await fixture.account()
        return await fixture.failure {
            try await fixture.accounts.requireOpenable(account, by: kind, within: .seconds(600))
        }
    }

    @Test func `when guesses are wrong, then the summary counts down`() async throws {
        let fixture = try await registered()
        func left() async throws -> Int? {
            try await fixture.accounts.keyslotSummaries(of: fixture.account()).first?.guessesRemaining
        }
        #expect(try await left() == nil)
        for expected in [2, 1] {
            #expect(await fixture.failure(Self.wrong) == .wrongSecret)
            #expect(try await left() == expected)
        }
        try await fixture.login()
        #expect(try await left() == nil)
    }

    @Test func `when a guess was wrong, then the summary has the time of the answer`() async throws {
        let fixture = try await registered()
        func summary() async throws -> KeyslotSummary? {
            try await fixture.accounts.keyslotSummaries(of: fixture.account()).first
        }
        #expect(try await summary()?.answeredAt == nil)
        for _ in 1...3 { #expect(await fixture.failure(Self.wrong) == .wrongSecret) }
        let locked = try await summary()
        #expect(locked?.state == .locked && locked?.answeredAt != nil)
        #expect(try await locked?.keyID == fixture.account().keyslots.first?.keyID)
    }

    @Test func `when a key locks, then the name of its state is a word`() async throws {
        let fixture = try await registered()
        func state() async throws -> String? {
            try await fixture.accounts.keyslotSummaries(of: fixture.account()).first?.state.name
        }
        #expect(try await state() == "usable")
        for _ in 1...3 { _ = await fixture.failure(Self.wrong) }
        #expect(try await state() == "locked")
    }

    private func revoked() async throws -> OPRFFixture {
        let fixture = try await registered()
        try await fixture.login()
        fixture.clock.advance(by: 60)
        fixture.service.revoke(try await fixture.slot().keyID)
        #expect(try await refusal(fixture) == nil, "this machine does not know it yet")
        #expect(await fixture.failure() == .deviceRevoked)
        return fixture
    }

    @Test func `when a key was revoked, then nobody is asked again`() async throws {
        let fixture = try await revoked()
        let calls = fixture.service.calls.count
        #expect(try await refusal(fixture) == .deviceRevoked)
        #expect(try await refusal(fixture, by: .password) == .deviceRevoked)
        #expect(fixture.service.calls.count > calls, "the key service decides, and no note of this machine")
    }

    @Test func `when a key has ended, then nobody is asked again`() async throws {
        let fixture = try await registered()
        fixture.service.destroy(try await fixture.slot().keyID)
        #expect(await fixture.failure() == .keyMissing)
        #expect(try await refusal(fixture) == .keyMissing)
    }

    /// An operator put the database back, and the note of the refusal stays on this machine.
    @Test func `when a revoked key comes back, then a person may try`() async throws {
        let fixture = try await revoked()
        fixture.service.restore(try await fixture.slot().keyID)
        #expect(try await refusal(fixture) == nil)
        #expect(try await refusal(fixture, by: .password) == nil)
        try await fixture.login()
    }

    @Test func `when the key service is silent, then notes refuse nothing`() async throws {
        let fixture = try await revoked()
        fixture.service.isReachable = false
        #expect(try await refusal(fixture) == nil)
    }

    @Test func `when a key is locked, then a person may try`() async throws {
        let fixture = try await registered()
        for _ in 1...3 { _ = await fixture.failure(Self.wrong) }
        #expect(try await refusal(fixture) == nil, "its operator may have unlocked it")
        #expect(try await refusal(fixture, by: .pin) == .notEnrolled)
    }

    private func locked() async throws -> OPRFFixture {
        let fixture = try await registered()
        for _ in 1...3 { #expect(await fixture.failure(Self.wrong) == .wrongSecret) }
        fixture.clock.advance(by: 60)
        return fixture
    }

    /// The state of the password after the key service was asked.
    private func rechecked(_ fixture: OPRFFixture) async throws -> KeyslotSummary.State? {
        let account = try await fixture.account()
        await fixture.accounts.recheckLocks(of: account, within: .seconds(600))
        return try await fixture.accounts.keyslotSummaries(of: account).first?.state
    }

    @Test func `when a key was unlocked, then its lock is forgotten`() async throws {
        let fixture = try await locked()
        #expect(try await rechecked(fixture) == .locked)
        let key = try await fixture.slot().keyID
        fixture.service.unlock(key)
        fixture.service.isReachable = false
        #expect(try await rechecked(fixture) == .locked, "nobody answered")
        fixture.service.isReachable = true
        #expect(try await rechecked(fixture) == .usable)
        #expect(fixture.service.openGuesses(of: key) == 0, "the question costs no guess")
        for _ in 1...2 { #expect(await fixture.failure(Self.wrong) == .wrongSecret) }
        try await fixture.login()
    }

    @Test func `when somebody guessed after the unlocking, then the last guess is known`() async throws {
        let fixture = try await locked()
        let thief = try await fixture.thief()
        fixture.service.unlock(try await fixture.slot().keyID)
        for _ in 1...2 { #expect(await thief.failure(Self.wrong) == .wrongSecret) }
        #expect(try await rechecked(fixture) == .usable)
        let summary = try await fixture.accounts.keyslotSummaries(of: fixture.account()).first
        #expect(summary?.guessesRemaining == 1)
    }

    @Test func `when a key was locked a moment ago, then the answer needs no wait`() async throws {
        let fixture = try await registered()
        for _ in 1...3 { #expect(await fixture.failure(Self.wrong) == .wrongSecret) }
        let (slot, account) = (try await fixture.slot(), try await fixture.account())
        let calls = fixture.service.calls.count
        #expect(await fixture.accounts.recheckLocks(of: account, within: .seconds(600)) == [slot.id: .locked])
        #expect(fixture.service.calls.count <= calls + 2, "one question, and one confirmation")
    }

    @Test func `when a key was locked a moment ago, then the time of a new answer is noted`() async throws {
        let fixture = try await registered()
        for _ in 1...3 { #expect(await fixture.failure(Self.wrong) == .wrongSecret) }
        // Its date is not that of the lock, so repeated answers do not count for longer.
        for seconds in [4.0, 4] {
            fixture.clock.advance(by: seconds)
            #expect(try await rechecked(fixture) == .locked)
            let summary = try await fixture.accounts.keyslotSummaries(of: fixture.account()).first
            #expect(summary?.answeredAt == fixture.clock.now)
        }
        let (account, asked) = (try await fixture.account(), fixture.clock.now)
        fixture.service.busyAnswers = 1
        fixture.clock.advance(by: 4)
        #expect(await fixture.accounts.recheckLocks(of: account, within: .seconds(600)) == [:])
        #expect(try await fixture.accounts.keyslotSummaries(of: account).first?.answeredAt == asked)
    }

    @Test func `when a thief locks a key, then a question about all keys shows it`() async throws {
        let fixture = try await registered()
        let (slot, account) = (try await fixture.slot(), try await fixture.account())
        func answers() async -> [String: RevocationAnswer] {
            await fixture.accounts.recheckLocks(of: account, asksAll: true, within: .seconds(600))
        }
        #expect(await answers() == [slot.id: .live(isProven: true)])
        #expect(fixture.service.openGuesses(of: slot.keyID) == 0, "the question costs no guess")
        let thief = try await fixture.thief()
        for _ in 1...3 { #expect(await thief.failure(Self.wrong) == .wrongSecret) }
        fixture.clock.advance(by: 60)
        #expect(await answers() == [slot.id: .locked])
        #expect(try await fixture.accounts.keyslotSummaries(of: account).first?.state == .locked)
        fixture.service.isReachable = false
        #expect(await answers() == [:])
    }

    /// A machine with a locked password, a PIN and a recovery code.
    private func withThreeMethods() async throws -> OPRFFixture {
        let fixture = try await registered()
        let account = try await fixture.account()
        let vaultKey = try await fixture.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFFixture.password)))
        await fixture.accounts.finishConfirming()
        try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        let (_, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        try await fixture.accounts.add(slot, to: account, vaultKey: vaultKey)
        // A refusal counts only if it is newer than the last use.
        fixture.clock.advance(by: 60)
        for _ in 1...3 { #expect(await fixture.failure(Self.wrong) == .wrongSecret) }
        fixture.clock.advance(by: 60)
        return fixture
    }

    private func states(_ fixture: OPRFFixture) async throws -> [Keyslot.Kind: KeyslotSummary.State] {
        let all = try await fixture.accounts.keyslotSummaries(of: fixture.account())
        return Dictionary(uniqueKeysWithValues: all.map { ($0.kind, $0.state) })
    }

    @Test func `when one answer says that the device was revoked, then each method says so`() async throws {
        let fixture = try await withThreeMethods()
        let before = try await states(fixture)
        #expect(before == [.password: .locked, .pin: .usable, .recovery: .usable])
        for key in try await fixture.keys() { fixture.service.revoke(key) }
        try await fixture.accounts.recheckLocks(of: fixture.account(), within: .seconds(600))
        let now = try await states(fixture)
        #expect(now == [.password: .revoked, .pin: .revoked, .recovery: .revoked])
        for kind in [nil, .password, .pin, .recovery] as [Keyslot.Kind?] {
            #expect(try await refusal(fixture, by: kind) == .deviceRevoked)
        }
        let account = try await fixture.account()
        let text = await thrown(\VaultError.description) {
            try await fixture.accounts.requireOpenable(account, within: .seconds(600))
        }
        #expect(text?.contains("no unlock method opens the account here any more") == true)
    }

    @Test func `when an operator revoked only two keys, then the recovery code may be tried`() async throws {
        let fixture = try await withThreeMethods()
        for kind in [.password, .pin] as [Keyslot.Kind] { fixture.service.revoke(try await fixture.slot(kind).keyID) }
        try await fixture.accounts.recheckLocks(of: fixture.account(), within: .seconds(600))
        let now = try await states(fixture)
        #expect(now == [.password: .revoked, .pin: .revoked, .recovery: .usable])
        #expect(try await refusal(fixture) == nil)
        #expect(try await refusal(fixture, by: .recovery) == nil)
    }

    @Test func `when no question is prepared, then the key service is not asked`() async throws {
        let fixture = try await locked()
        let slot = try await fixture.slot()
        try await fixture.store.withRecord(fixture.account().id.recordPrefix + "own-guesses") { $0 = nil }
        fixture.service.unlock(slot.keyID)
        let calls = fixture.service.calls.count
        #expect(try await rechecked(fixture) == .locked)
        #expect(fixture.service.calls.count == calls)
    }

    @Test func `when no key is locked, then the key service is not asked`() async throws {
        let fixture = try await registered()
        #expect(await fixture.failure(Self.wrong) == .wrongSecret)
        let calls = fixture.service.calls.count
        #expect(try await rechecked(fixture) == .usable)
        #expect(fixture.service.calls.count == calls)
    }

    @Test func `when the key service is down, then nobody is asked`() async throws {
        let fixture = try await registered()
        let account = try await fixture.account()
        func refusal() async -> VaultError.Code? {
            await fixture.failure {
                try await fixture.accounts.requireKeyService(of: account, within: .seconds(600))
            }
        }
        #expect(await refusal() == nil)
        fixture.service.isReachable = false
        #expect(await refusal() == .keyServiceUnavailable)
    }

    @Test func `when the key service is slow, then people are asked`() async throws {
        let fixture = try await registered()
        let slow = SlowKeyService(fixture.first, delay: .seconds(60), clock: ManualContinuousClock())
        var accounts = fixture.accounts
        accounts.services = KeyServices(released: { _ in slow })
        try await accounts.requireKeyService(of: fixture.account(), within: .seconds(1))
    }
}
