import Foundation
import KeyServiceClient
import Testing
import VaultBase
import VaultCrypto
import VaultHTTP
import VaultStorageTestSupport
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// Logins with protocol version 2: what is counted, what is told, and what leaves this machine.
@Suite(.timeLimit(.minutes(2))) struct OPRFLoginTests {
    /// A gateway, or somebody who ends TLS, can answer a confirmation that never arrives.
    @Test func `when the first confirmation vanishes, then the old password stays`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let swallowing = fixture.restarted { SwallowingService(base: $0) }
        let failure = await fixture.failure {
            try await swallowing.accounts.setPassword(
                SecretBytes(utf8: "another long password"), of: fixture.account(), vaultKey: vaultKey)
        }
        #expect(failure == .keyServiceUnavailable)
        #expect(try await fixture.login() == nil)
        await fixture.accounts.endRetiredKeys()
        #expect(fixture.service.liveKeys == (try await fixture.keys()), "the new key has ended")
    }

    @Test func `when a proof stays unconfirmed, then login closes its guess`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let losing = fixture.restarted { LosingLaterConfirms(base: $0) }
        try await losing.accounts.addPIN(SecretBytes(utf8: "8068"), to: fixture.account(), vaultKey: vaultKey)
        let key = try await fixture.slot(.pin).keyID
        #expect(fixture.service.openGuesses(of: key) == 1)
        fixture.clock.advance(by: 61)
        #expect(try await fixture.login(with: .pin(SecretBytes(utf8: "8068"))) == nil, "nobody else tried it")
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    @Test func `when a login succeeds, then no guess stays open`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let slot = try await fixture.slot()
        #expect(slot.keyServiceProtocol == 2 && fixture.first.calls == 0)
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: slot.keyID) == 0)
        for left in [2, 1] {
            do {
                try await fixture.login("a slip")
                Issue.record("it opened")
            } catch let error as VaultError {
                #expect(error.code == .wrongSecret && error.guessesRemaining == left)
            }
        }
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: slot.keyID) == 0, "own guesses are taken back")
        for _ in 0..<3 { #expect(await fixture.failure("a slip") == .wrongSecret) }
        fixture.clock.advance(by: 20)
        #expect(await fixture.failure() == .keyLocked)
        let after = try await fixture.slot()
        #expect(after == slot.used(at: after.lastUsedAt))
    }

    @Test func `when answers get lost, then ten logins cost one guess`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        let cut = fixture.restarted { LosingService(base: $0) }
        for _ in 1...10 { #expect(await cut.failure() == .keyServiceUnavailable) }
        fixture.service.isReachable = false
        #expect(await fixture.failure() == .keyServiceUnavailable)
        fixture.service.isReachable = true
        #expect(fixture.service.openGuesses(of: key) == 1)
        fixture.clock.advance(by: 3600)
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: key) == 0)
        let calls = fixture.service.calls.count
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.calls.count == calls + 2, "an evaluation and a confirmation, and no check any more")
    }

    @Test func `when only long answers get lost, then one guess counts`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        let cut = fixture.restarted { LosingService(base: $0, passesRefusals: true) }
        for _ in 1...4 {
            #expect(await cut.failure() == .keyServiceUnavailable)
            fixture.clock.advance(by: 60)
        }
        #expect(fixture.service.openGuesses(of: key) == 1)
        #expect(try await fixture.login() == nil, "it opens when the network is whole again")
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    @Test func `when elements are planted, then confirmations name at most two`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let slot = try await fixture.slot()
        let guesses = OwnGuesses(store: fixture.store, account: try await fixture.account().id)
        var written: Set<[UInt8]> = []
        for _ in 0..<63 {
            let element = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
            try await guesses.note(element, at: slot.keyID)
            written.insert(OPRFDerivation.ticket(slot.keyID, element))
        }
        for _ in 1...3 {
            try await fixture.login()
            let named = Set(try await guesses.sent(of: slot.keyID).flatMap(\.tickets))
            #expect(named.intersection(written).count <= 2, "with the login's own guess: three, the limit")
            #expect(try await guesses.tickets(at: slot.keyID, check: slot.check).unconfirmed == [])
            fixture.clock.advance(by: 60)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when typos precede a lost confirmation, then no alarm follows`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = OPRFFixture(store: store)
            try await fixture.register()
            for _ in 0..<2 { #expect(await fixture.failure("a slip") == .wrongSecret) }
            fixture.service.losesConfirms = true
            #expect(try await fixture.login() == nil)
            let key = try await fixture.slot().keyID
            #expect(fixture.service.openGuesses(of: key) == 3)
            fixture.clock.advance(by: 3600)
            fixture.service.losesConfirms = false
            let again = fixture.restarted()
            #expect(try await again.login() == nil)
            #expect(again.told.notices == [])
            #expect(try await again.slot().keyID == key, "the keyslot is the same")
            #expect(fixture.service.openGuesses(of: key) == 0)
            let guesses = OwnGuesses(store: store, account: try await fixture.account().id)
            #expect(try await guesses.waiting() == [])
            #expect(try await guesses.tickets(at: key, check: fixture.slot().check).unconfirmed == [])
        }
    }

    @Test(arguments: [0, 1, 2])
    func `when 24 logins run at once, then all open quietly`(typos: Int) async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        for _ in 0..<typos { #expect(await fixture.failure("a slip") == .wrongSecret) }
        // The typos are older than a minute: a parallel login must not take them for somebody else's.
        fixture.clock.advance(by: 300)
        let codes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for _ in 0..<24 {
                let program = fixture.restarted()
                group.addTask {
                    await program.failure {
                        let notice = try await program.login()
                        #expect(notice == nil)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == [VaultError.Code?](repeating: nil, count: 24))
        #expect(try await fixture.slot().keyID == key)
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    // Row: the service learns
    // Row: recorded traffic, or a false address that got logins; later the disk
    @Test func `when a service is rogue, then no derived value leaves`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        try await fixture.login()
        let key = try await fixture.slot().keyID
        let before = fixture.service.calls.count
        fixture.service.isRogue = true
        #expect(await fixture.failure() == .wrongSecret)
        let sent = fixture.service.calls.dropFirst(before)
        #expect(sent.count == 1)
        guard case .evaluate(id: key, blinded: _)? = sent.first else {
            Issue.record("another call than one evaluation: \(sent)")
            return
        }
        fixture.service.isRogue = false
        fixture.clock.advance(by: 3600)
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: key) == 0, "the guess at the rogue service was an own one")
    }

    @Test func `when a thief guesses, then one login renews the keyslot`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        try await fixture.login()
        let before = try await fixture.slot()
        let thief = try await fixture.thief()
        fixture.clock.advance(by: 100)
        for _ in 0..<2 { #expect(await thief.failure("a guess") == .wrongSecret) }
        let last = fixture.clock.now
        fixture.clock.advance(by: 3600)
        let notice = try #require(try await fixture.login())
        #expect(notice.code == .wrongGuesses && notice.count == 2 && notice.mayBeRight && notice.isRenewed)
        #expect(notice.last == last && notice.keyslot == .password)
        #expect(notice.description.hasPrefix("2 guesses with the password, perhaps right ones, were made since "))
        let after = try await fixture.slot()
        #expect(after.keyID != before.keyID && after.createdAt == before.createdAt)
        #expect(fixture.service.liveKeys == [after.keyID])
        #expect(try await fixture.login() == nil, "it is told once")
        #expect(try await fixture.slot().keyID == after.keyID)
        #expect(await thief.failure() == .keyMissing, "the copy opens nothing, even with the right password")
        #expect(fixture.service.evaluations(of: before.keyID) <= OPRFFixture.evaluationsOfNewKey + 2 + 1 + 1)
    }

    @Test func `when a thief guesses right, then the next login warns`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let thief = try await fixture.thief()
        fixture.service.losesConfirms = true
        try await thief.login()
        fixture.service.losesConfirms = false
        fixture.clock.advance(by: 61)
        #expect(try await fixture.login()?.count == 1)
    }

    @Test func `when logins race after foreign guesses, then one key lives`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let thief = try await fixture.thief()
        #expect(await thief.failure("a guess") == .wrongSecret)
        fixture.clock.advance(by: 3600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                let program = fixture.restarted()
                group.addTask { try await program.login() }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        #expect(await fixture.accounts.retiredKeys() == [])
    }

    @Test(arguments: [-10.0, 10.0])
    func `when the clock is years off, then login repeats once`(years: Double) async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        fixture.service.clockOffset = years * 365 * 86_400
        let before = fixture.service.calls.count
        #expect(try await fixture.login() == nil)
        let evaluations = fixture.service.calls.dropFirst(before).filter {
            if case .evaluate = $0 { true } else { false }
        }
        #expect(evaluations.count == 2 && Set(evaluations).count == 1)
    }

    @Test func `when an answer is lost, then its repeat costs nothing`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        fixture.service.lostAnswers = 2
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.evaluations(of: key) == OPRFFixture.evaluationsOfNewKey + 1)
        // Three lost answers end the login. The guess is known as an own one later.
        fixture.service.lostAnswers = 3
        #expect(await fixture.failure() == .keyServiceUnavailable)
        #expect(fixture.service.openGuesses(of: key) == 1)
        fixture.clock.advance(by: 3600)
        let again = fixture.restarted()
        #expect(try await again.login() == nil)
        #expect(again.told.notices == [])
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    @Test func `when the service is busy, then login asks again`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        fixture.service.busyAnswers = 20
        #expect(try await fixture.login() == nil)
        fixture.service.busyAnswers = 1000
        #expect(await fixture.failure() == .keyServiceUnavailable)
    }

    @Test func `when a key is revoked or gone, then errors differ`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        fixture.service.revoke(key)
        do {
            try await fixture.login()
            Issue.record("it opened")
        } catch let error as VaultError {
            #expect(error.code == .deviceRevoked && error.description.contains("This device was revoked"))
        }
        fixture.service.destroy(key)
        #expect(await fixture.failure() == .keyMissing)
        fixture.service.deleteAllKeys()
        #expect(await fixture.failure() == .keyMissing)
    }

    @Test func `when another program replaces the keyslot, then login still opens`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        // The confirmation of this login is sent at the next one: after the account is read, and before the turn.
        fixture.service.losesConfirms = true
        try await fixture.login()
        fixture.service.losesConfirms = false
        let thief = try await fixture.thief()
        #expect(await thief.failure("a guess") == .wrongSecret)
        fixture.clock.advance(by: 3600)
        let other = fixture.restarted()
        let slow = fixture.restarted { base in InterruptedService(base) { try await other.login() } }
        let before = try await fixture.slot().keyID
        #expect(try await slow.login() == nil)
        #expect(try await fixture.slot().keyID != before)
    }

    /// Anybody between here and the service can refuse. A new key would be made through that somebody.
    @Test func `when a confirmation is refused, then the key stays`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        let refusing = fixture.restarted { base in RefusingService(base) }
        #expect(try await refusing.login() == nil)
        fixture.clock.advance(by: 3600)
        #expect(fixture.service.openGuesses(of: key) == 1)
        #expect(try await fixture.login() == nil)
        #expect(try await fixture.slot().keyID == key)
        #expect(fixture.service.openGuesses(of: key) == 0)
    }
}

extension Keyslot {
    /// The same keyslot, used at another time.
    fileprivate func used(at date: Date?) -> Keyslot {
        var slot = self
        slot.lastUsedAt = date
        return slot
    }
}

/// A key service that knows another confirm key.
private struct RefusingService: WrappedOPRFService {
    let base: any OPRFKeyService
    init(_ base: any OPRFKeyService) { self.base = base }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        guard confirmation.installation != nil else {
            throw KeyServiceError(.noSuchKey, "The key service does not know this key.")
        }
        try await base.confirm(confirmation)
    }
}

/// A key service with a hook before its first confirmation.
private final class InterruptedService: WrappedOPRFService {
    let base: any OPRFKeyService
    private let interruption: @Sendable () async throws -> Void
    private let isFirst = Lock(true)

    init(_ base: any OPRFKeyService, _ interruption: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.interruption = interruption
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        let isFirst = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if isFirst { try await interruption() }
        try await base.confirm(confirmation)
    }
}

/// A key service whose answers to evaluations are lost.
private struct LosingService: WrappedOPRFService {
    let base: any OPRFKeyService
    /// Whether refusals arrive. They are shorter than answers.
    var passesRefusals = false

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        do {
            _ = try await base.evaluate(id, blinded, requestKey: requestKey, at: date)
        } catch  where passesRefusals {
            throw error
        } catch {}
        throw KeyServiceError(
            .unavailable, "The key service does not answer.",
            underlying: HTTPError(.interrupted, authority: "keys.example"))
    }
}

/// A network that loses all confirmations but the first one of each key.
private struct LosingLaterConfirms: WrappedOPRFService {
    let base: any OPRFKeyService

    func confirm(_ confirmation: KeyConfirmation) async throws {
        guard confirmation.installation != nil else {
            throw KeyServiceError(.unavailable, "The key service does not answer.")
        }
        try await base.confirm(confirmation)
    }
}

/// Somebody in the network who answers confirmations, and passes none on.
private struct SwallowingService: WrappedOPRFService {
    let base: any OPRFKeyService

    func confirm(_ confirmation: KeyConfirmation) async throws {}
}
