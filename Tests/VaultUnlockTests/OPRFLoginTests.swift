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
        let bench = OPRFBench()
        let vaultKey = try await bench.register()
        let swallowing = bench.restarted { SwallowingService(base: $0) }
        let failure = await bench.failure {
            try await swallowing.accounts.setPassword(
                SecretBytes(utf8: "another long password"), of: bench.account(), vaultKey: vaultKey)
        }
        #expect(failure == .keyServiceUnavailable)
        #expect(try await bench.login() == nil)
        await bench.accounts.endRetiredKeys()
        #expect(bench.service.liveKeys == (try await bench.keys()), "the new key has ended")
    }

    @Test func `when a proof stays unconfirmed, then login closes its guess`() async throws {
        let bench = OPRFBench()
        let vaultKey = try await bench.register()
        let losing = bench.restarted { LosingLaterConfirms(base: $0) }
        try await losing.accounts.addPIN(SecretBytes(utf8: "8068"), to: bench.account(), vaultKey: vaultKey)
        let key = try await bench.slot(.pin).keyID
        #expect(bench.service.openGuesses(of: key) == 1)
        bench.clock.advance(by: 61)
        #expect(try await bench.login(with: .pin(SecretBytes(utf8: "8068"))) == nil, "nobody else tried it")
        #expect(bench.service.openGuesses(of: key) == 0)
    }

    @Test func `when a login succeeds, then no guess stays open`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let slot = try await bench.slot()
        #expect(slot.keyServiceProtocol == 2 && bench.first.calls == 0)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: slot.keyID) == 0)
        for left in [2, 1] {
            do {
                try await bench.login("a slip")
                Issue.record("it opened")
            } catch let error as VaultError {
                #expect(error.code == .wrongSecret && error.guessesRemaining == left)
            }
        }
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: slot.keyID) == 0, "own guesses are taken back")
        for _ in 0..<3 { #expect(await bench.failure("a slip") == .wrongSecret) }
        bench.clock.advance(by: 20)
        #expect(await bench.failure() == .keyLocked)
        let after = try await bench.slot()
        #expect(after == slot.used(at: after.lastUsedAt))
    }

    @Test func `when answers get lost, then ten logins cost one guess`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        let cut = bench.restarted { LosingService(base: $0) }
        for _ in 1...10 { #expect(await cut.failure() == .keyServiceUnavailable) }
        bench.service.isReachable = false
        #expect(await bench.failure() == .keyServiceUnavailable)
        bench.service.isReachable = true
        #expect(bench.service.openGuesses(of: key) == 1)
        bench.clock.advance(by: 3600)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: key) == 0)
        let calls = bench.service.calls.count
        #expect(try await bench.login() == nil)
        #expect(bench.service.calls.count == calls + 2, "an evaluation and a confirmation, and no check any more")
    }

    @Test func `when only long answers get lost, then one guess counts`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        let cut = bench.restarted { LosingService(base: $0, passesRefusals: true) }
        for _ in 1...4 {
            #expect(await cut.failure() == .keyServiceUnavailable)
            bench.clock.advance(by: 60)
        }
        #expect(bench.service.openGuesses(of: key) == 1)
        #expect(try await bench.login() == nil, "it opens when the network is whole again")
        #expect(bench.service.openGuesses(of: key) == 0)
    }

    @Test func `when elements are planted, then confirmations name at most two`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let slot = try await bench.slot()
        let guesses = OwnGuesses(store: bench.store, account: try await bench.account().id)
        var written: Set<[UInt8]> = []
        for _ in 0..<63 {
            let element = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
            try await guesses.note(element, at: slot.keyID)
            written.insert(OPRFDerivation.ticket(slot.keyID, element))
        }
        for _ in 1...3 {
            try await bench.login()
            let named = Set(try await guesses.sent(of: slot.keyID).flatMap(\.tickets))
            #expect(named.intersection(written).count <= 2, "with the login's own guess: three, the limit")
            #expect(try await guesses.tickets(at: slot.keyID, check: slot.check).unconfirmed == [])
            bench.clock.advance(by: 60)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when typos precede a lost confirmation, then no alarm follows`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let bench = OPRFBench(store: store)
            try await bench.register()
            for _ in 0..<2 { #expect(await bench.failure("a slip") == .wrongSecret) }
            bench.service.losesConfirms = true
            #expect(try await bench.login() == nil)
            let key = try await bench.slot().keyID
            #expect(bench.service.openGuesses(of: key) == 3)
            bench.clock.advance(by: 3600)
            bench.service.losesConfirms = false
            let again = bench.restarted()
            #expect(try await again.login() == nil)
            #expect(again.told.notices == [])
            #expect(try await again.slot().keyID == key, "the keyslot is the same")
            #expect(bench.service.openGuesses(of: key) == 0)
            let guesses = OwnGuesses(store: store, account: try await bench.account().id)
            #expect(try await guesses.waiting() == [])
            #expect(try await guesses.tickets(at: key, check: bench.slot().check).unconfirmed == [])
        }
    }

    @Test(arguments: [0, 1, 2])
    func `when 24 logins run at once, then all open quietly`(typos: Int) async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        for _ in 0..<typos { #expect(await bench.failure("a slip") == .wrongSecret) }
        // The typos are older than a minute: a parallel login must not take them for somebody else's.
        bench.clock.advance(by: 300)
        let codes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for _ in 0..<24 {
                let program = bench.restarted()
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
        #expect(try await bench.slot().keyID == key)
        #expect(bench.service.openGuesses(of: key) == 0)
    }

    // Row: the service learns
    // Row: recorded traffic, or a false address that got logins; later the disk
    @Test func `when a service is rogue, then no derived value leaves`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        try await bench.login()
        let key = try await bench.slot().keyID
        let before = bench.service.calls.count
        bench.service.isRogue = true
        #expect(await bench.failure() == .wrongSecret)
        let sent = bench.service.calls.dropFirst(before)
        #expect(sent.count == 1)
        guard case .evaluate(id: key, blinded: _)? = sent.first else {
            Issue.record("another call than one evaluation: \(sent)")
            return
        }
        bench.service.isRogue = false
        bench.clock.advance(by: 3600)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: key) == 0, "the guess at the rogue service was an own one")
    }

    @Test func `when a thief guesses, then one login renews the keyslot`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        try await bench.login()
        let before = try await bench.slot()
        let thief = try await bench.thief()
        bench.clock.advance(by: 100)
        for _ in 0..<2 { #expect(await thief.failure("a guess") == .wrongSecret) }
        let last = bench.clock.now
        bench.clock.advance(by: 3600)
        let notice = try #require(try await bench.login())
        #expect(notice.code == .wrongGuesses && notice.count == 2 && notice.mayBeRight && notice.isRenewed)
        #expect(notice.last == last && notice.keyslot == .password)
        #expect(notice.description.hasPrefix("2 guesses with the password, perhaps right ones, were made since "))
        let after = try await bench.slot()
        #expect(after.keyID != before.keyID && after.createdAt == before.createdAt)
        #expect(bench.service.liveKeys == [after.keyID])
        #expect(try await bench.login() == nil, "it is told once")
        #expect(try await bench.slot().keyID == after.keyID)
        #expect(await thief.failure() == .keyMissing, "the copy opens nothing, even with the right password")
        #expect(bench.service.evaluations(of: before.keyID) <= OPRFBench.evaluationsOfNewKey + 2 + 1 + 1)
    }

    @Test func `when a thief guesses right, then the next login warns`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let thief = try await bench.thief()
        bench.service.losesConfirms = true
        try await thief.login()
        bench.service.losesConfirms = false
        bench.clock.advance(by: 61)
        #expect(try await bench.login()?.count == 1)
    }

    @Test func `when logins race after foreign guesses, then one key lives`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let thief = try await bench.thief()
        #expect(await thief.failure("a guess") == .wrongSecret)
        bench.clock.advance(by: 3600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                let program = bench.restarted()
                group.addTask { try await program.login() }
            }
            try await group.waitForAll()
        }
        #expect(try await bench.login() == nil)
        #expect(bench.service.liveKeys == (try await bench.keys()))
        #expect(await bench.accounts.retiredKeys() == [])
    }

    @Test(arguments: [-10.0, 10.0])
    func `when the clock is years off, then login repeats once`(years: Double) async throws {
        let bench = OPRFBench()
        try await bench.register()
        bench.service.clockOffset = years * 365 * 86_400
        let before = bench.service.calls.count
        #expect(try await bench.login() == nil)
        let evaluations = bench.service.calls.dropFirst(before).filter {
            if case .evaluate = $0 { true } else { false }
        }
        #expect(evaluations.count == 2 && Set(evaluations).count == 1)
    }

    @Test func `when an answer is lost, then its repeat costs nothing`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        bench.service.lostAnswers = 2
        #expect(try await bench.login() == nil)
        #expect(bench.service.evaluations(of: key) == OPRFBench.evaluationsOfNewKey + 1)
        // Three lost answers end the login. The guess is known as an own one later.
        bench.service.lostAnswers = 3
        #expect(await bench.failure() == .keyServiceUnavailable)
        #expect(bench.service.openGuesses(of: key) == 1)
        bench.clock.advance(by: 3600)
        let again = bench.restarted()
        #expect(try await again.login() == nil)
        #expect(again.told.notices == [])
        #expect(bench.service.openGuesses(of: key) == 0)
    }

    @Test func `when the service is busy, then login asks again`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        bench.service.busyAnswers = 20
        #expect(try await bench.login() == nil)
        bench.service.busyAnswers = 1000
        #expect(await bench.failure() == .keyServiceUnavailable)
    }

    @Test func `when a key is revoked or gone, then errors differ`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        bench.service.revoke(key)
        do {
            try await bench.login()
            Issue.record("it opened")
        } catch let error as VaultError {
            #expect(error.code == .deviceRevoked && error.description.contains("This device was revoked"))
        }
        bench.service.destroy(key)
        #expect(await bench.failure() == .keyMissing)
        bench.service.deleteAllKeys()
        #expect(await bench.failure() == .keyMissing)
    }

    @Test func `when another program replaces the keyslot, then login still opens`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        // The confirmation of this login is sent at the next one: after the account is read, and before the turn.
        bench.service.losesConfirms = true
        try await bench.login()
        bench.service.losesConfirms = false
        let thief = try await bench.thief()
        #expect(await thief.failure("a guess") == .wrongSecret)
        bench.clock.advance(by: 3600)
        let other = bench.restarted()
        let slow = bench.restarted { base in InterruptedService(base) { try await other.login() } }
        let before = try await bench.slot().keyID
        #expect(try await slow.login() == nil)
        #expect(try await bench.slot().keyID != before)
    }

    /// Anybody between here and the service can refuse. A new key would be made through that somebody.
    @Test func `when a confirmation is refused, then the key stays`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        let refusing = bench.restarted { base in RefusingService(base) }
        #expect(try await refusing.login() == nil)
        bench.clock.advance(by: 3600)
        #expect(bench.service.openGuesses(of: key) == 1)
        #expect(try await bench.login() == nil)
        #expect(try await bench.slot().keyID == key)
        #expect(bench.service.openGuesses(of: key) == 0)
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
