import Foundation
import KeyServiceClient
import Testing
import VaultBase
import VaultCrypto
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// Somebody who recorded the requests of logins sends them again.
struct OPRFReplayTests {
    private func requestKey(_ fixture: OPRFFixture) async throws -> SharedSecret {
        let account = try await fixture.account()
        return SharedSecret(
            try OPRFDerivation.requestKey(
                from: SecretBytes(copying: account.deviceSecret), id: try await fixture.slot().keyID))
    }

    /// Sends all recorded evaluations again, the newest first.
    ///
    /// - Parameter onlyConfirmed: whether to leave out those that nobody confirmed. A check whether answers arrive has
    ///   a wrong time, so nobody can use it again.
    /// - Returns: the number of guesses that they opened.
    private func replay(to fixture: OPRFFixture, onlyConfirmed: Bool = false) async throws -> Int {
        let confirmed = fixture.service.calls.flatMap { call -> [[UInt8]] in
            if case .confirm(_, let tickets) = call { tickets } else { [] }
        }
        let key = try await fixture.slot().keyID
        let requestKey = try await requestKey(fixture)
        var opened: Set<[UInt8]> = []
        for case .evaluate(key, let blinded) in fixture.service.calls.reversed() where !opened.contains(blinded) {
            let ticket = try OPRFDerivation.ticket(key, RistrettoElement(blinded))
            guard !onlyConfirmed || confirmed.contains(ticket) else { continue }
            let answer = try? await fixture.service.evaluate(
                key, RistrettoElement(blinded), requestKey: requestKey.bytes, at: fixture.clock.now)
            if answer != nil { opened.insert(blinded) }
        }
        return opened.count
    }

    @Test(arguments: [1, 3, 40])
    func `when logins are replayed, then login raises no alarm`(logins: Int) async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        for _ in 0..<logins { try await fixture.login() }
        #expect(fixture.service.openGuesses(of: key) == 0)
        let opened = try await replay(to: fixture)
        #expect(opened == min(3, OPRFFixture.evaluationsOfNewKey + logins))
        #expect(fixture.service.openGuesses(of: key) == opened)
        fixture.clock.advance(by: 120)
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: key) == 0)
        #expect(try await fixture.slot().keyID == key, "the keyslot is the same")
    }

    /// Confirmations of logins at the same time do not name each other's guesses, and can arrive in any order.
    @Test func `when parallel logins are replayed, then login raises no alarm`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        for _ in 1...5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...3 { group.addTask { try await fixture.login() } }
                try await group.waitForAll()
            }
            fixture.clock.advance(by: 30)
            #expect(try await replay(to: fixture, onlyConfirmed: true) == 3)
            fixture.clock.advance(by: 120)
            #expect(try await fixture.login() == nil)
            #expect(fixture.service.openGuesses(of: key) == 0)
        }
        #expect(try await fixture.slot().keyID == key, "the keyslot is the same")
    }

    /// Each program reads the store before the others have written, so its confirmation names none of their guesses.
    @Test(arguments: [0, 40])
    func `when mutually unknown logins are replayed, then no alarm follows`(earlier: Int) async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let (account, slot) = (try await fixture.account(), try await fixture.slot())
        for _ in 0..<earlier { try await fixture.login() }
        let record = account.id.recordPrefix + "own-guesses"
        let noted = try await fixture.store.withRecord(record) { $0 }
        let before = fixture.service.calls.count
        let guesses = OwnGuesses(store: fixture.store, account: account.id)
        for _ in 1...3 {
            let program = try await fixture.copied()
            try await program.store.withRecord(record) { $0 = noted }
            try await program.login()
            let sent = try await OwnGuesses(store: program.store, account: account.id).sent(of: slot.keyID)
            let confirmation = try #require(sent.last)
            try await fixture.store.apply([guesses.storing(confirmation, keeping: [slot])], to: account.id)
            try await guesses.noteSent([confirmation])
        }
        let recorded = fixture.service.calls.dropFirst(before)
        for _ in 1...2 { try await fixture.login() }
        let requestKey = try await requestKey(fixture)
        for case .evaluate(slot.keyID, let blinded) in recorded {
            _ = try await fixture.service.evaluate(
                slot.keyID, RistrettoElement(blinded), requestKey: requestKey.bytes, at: fixture.clock.now)
        }
        #expect(fixture.service.openGuesses(of: slot.keyID) == 3)
        fixture.clock.advance(by: 120)
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: slot.keyID) == 0)
        #expect(try await fixture.slot().keyID == slot.keyID, "the keyslot is the same")
    }

    @Test func `when wrong guesses are replayed, then they stay counted`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        for _ in 0..<3 { #expect(await fixture.failure("a slip") == .wrongSecret) }
        #expect(try await replay(to: fixture) == 3, "open guesses are answered again")
        fixture.clock.advance(by: 120)
        #expect(await fixture.failure() == .keyLocked)
    }

    /// A thief who could write to the disk once. Otherwise the owner's own machine would close the thief's later
    /// guesses.
    @Test func `when stored confirmations are forged, then login never repeats them`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let slot = try await fixture.slot()
        let later = try OPRF.blind(SecretBytes(utf8: "a guess")).element
        let forged = KeyConfirmation(
            id: slot.keyID, tickets: [OPRFDerivation.ticket(slot.keyID, later)],
            signature: [UInt8](repeating: 7, count: 64))
        let guesses = OwnGuesses(store: fixture.store, account: try await fixture.account().id)
        for isSent in [true, false] {
            if isSent {
                try await guesses.noteSent([forged])
            } else {
                let account = try await fixture.account()
                try await fixture.store.apply([guesses.storing(forged, keeping: [slot])], to: account.id)
            }
            try await fixture.login()
            let confirmed = fixture.service.calls.flatMap { call -> [[UInt8]] in
                if case .confirm(_, let tickets) = call, tickets != forged.tickets { tickets } else { [] }
            }
            #expect(!confirmed.contains(forged.tickets[0]), "\(isSent)")
        }
        #expect(try await guesses.waiting() == [], "a forged one does not block the others")
    }

    /// A thief who could write to the disk once, and who passes all calls on to the right service.
    @Test func `when the service address is forged, then no confirmation leaves`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        var account = try await fixture.account()
        let slots = account.keyslots
        account.keyServiceURL = "https://thief.example.com"
        try await fixture.store.apply(
            [.removeAccount, .putAccount(account)] + slots.map { .putKeyslot($0) }, to: account.id)
        let before = fixture.service.calls.count
        #expect(await fixture.failure() == .storeCorrupt)
        for call in fixture.service.calls.dropFirst(before) {
            if case .evaluate = call { continue }
            Issue.record("sent: \(call)")
        }
    }

    @Test func `when a new key's element is replayed, then login opens`() async throws {
        let element = FirstElement()
        let fixture = OPRFFixture { base in RecordingService(base: base, element: element) }
        try await fixture.register()
        let slot = try await fixture.slot()
        let requestKey = try await requestKey(fixture)
        let first = try #require(element.value.withLock { $0 })
        _ = try await fixture.service.evaluate(slot.keyID, first, requestKey: requestKey.bytes, at: fixture.clock.now)
        fixture.clock.advance(by: 120)
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: slot.keyID) == 0)
    }
}

/// A key service that records the first element of a new key.
private struct RecordingService: WrappedOPRFService {
    let base: any OPRFKeyService
    let element: FirstElement

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        element.value.withLock { $0 = key.blinded }
        return try await base.createKey(key)
    }
}

private final class FirstElement: Sendable {
    let value = Lock<RistrettoElement?>(nil)
}
