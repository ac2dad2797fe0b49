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
    private func requestKey(_ bench: OPRFBench) async throws -> SharedSecret {
        let account = try await bench.account()
        return SharedSecret(
            try OPRFDerivation.requestKey(
                from: SecretBytes(copying: account.deviceSecret), id: try await bench.slot().keyID))
    }

    /// Sends all recorded evaluations again, the newest first.
    ///
    /// - Parameter onlyConfirmed: whether to leave out those that nobody confirmed. A check whether answers arrive has
    ///   a wrong time, so nobody can use it again.
    /// - Returns: the number of guesses that they opened.
    private func replay(to bench: OPRFBench, onlyConfirmed: Bool = false) async throws -> Int {
        let confirmed = bench.service.calls.flatMap { call -> [[UInt8]] in
            if case .confirm(_, let tickets) = call { tickets } else { [] }
        }
        let key = try await bench.slot().keyID
        let requestKey = try await requestKey(bench)
        var opened: Set<[UInt8]> = []
        for case .evaluate(key, let blinded) in bench.service.calls.reversed() where !opened.contains(blinded) {
            let ticket = try OPRFDerivation.ticket(key, RistrettoElement(blinded))
            guard !onlyConfirmed || confirmed.contains(ticket) else { continue }
            let answer = try? await bench.service.evaluate(
                key, RistrettoElement(blinded), requestKey: requestKey.bytes, at: bench.clock.now)
            if answer != nil { opened.insert(blinded) }
        }
        return opened.count
    }

    @Test(arguments: [1, 3, 40])
    func `when logins are replayed, then login raises no alarm`(logins: Int) async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        for _ in 0..<logins { try await bench.login() }
        #expect(bench.service.openGuesses(of: key) == 0)
        let opened = try await replay(to: bench)
        #expect(opened == min(3, OPRFBench.evaluationsOfNewKey + logins))
        #expect(bench.service.openGuesses(of: key) == opened)
        bench.clock.advance(by: 120)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: key) == 0)
        #expect(try await bench.slot().keyID == key, "the keyslot is the same")
    }

    /// Confirmations of logins at the same time do not name each other's guesses, and can arrive in any order.
    @Test func `when parallel logins are replayed, then login raises no alarm`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        for _ in 1...5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...3 { group.addTask { try await bench.login() } }
                try await group.waitForAll()
            }
            bench.clock.advance(by: 30)
            #expect(try await replay(to: bench, onlyConfirmed: true) == 3)
            bench.clock.advance(by: 120)
            #expect(try await bench.login() == nil)
            #expect(bench.service.openGuesses(of: key) == 0)
        }
        #expect(try await bench.slot().keyID == key, "the keyslot is the same")
    }

    /// Each program reads the store before the others have written, so its confirmation names none of their guesses.
    @Test(arguments: [0, 40])
    func `when mutually unknown logins are replayed, then no alarm follows`(earlier: Int) async throws {
        let bench = OPRFBench()
        try await bench.register()
        let (account, slot) = (try await bench.account(), try await bench.slot())
        for _ in 0..<earlier { try await bench.login() }
        let record = account.id.recordPrefix + "own-guesses"
        let noted = try await bench.store.withRecord(record) { $0 }
        let before = bench.service.calls.count
        let guesses = OwnGuesses(store: bench.store, account: account.id)
        for _ in 1...3 {
            let program = try await bench.copied()
            try await program.store.withRecord(record) { $0 = noted }
            try await program.login()
            let sent = try await OwnGuesses(store: program.store, account: account.id).sent(of: slot.keyID)
            let confirmation = try #require(sent.last)
            try await bench.store.apply([guesses.storing(confirmation, keeping: [slot])], to: account.id)
            try await guesses.noteSent([confirmation])
        }
        let recorded = bench.service.calls.dropFirst(before)
        for _ in 1...2 { try await bench.login() }
        let requestKey = try await requestKey(bench)
        for case .evaluate(slot.keyID, let blinded) in recorded {
            _ = try await bench.service.evaluate(
                slot.keyID, RistrettoElement(blinded), requestKey: requestKey.bytes, at: bench.clock.now)
        }
        #expect(bench.service.openGuesses(of: slot.keyID) == 3)
        bench.clock.advance(by: 120)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: slot.keyID) == 0)
        #expect(try await bench.slot().keyID == slot.keyID, "the keyslot is the same")
    }

    @Test func `when wrong guesses are replayed, then they stay counted`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        for _ in 0..<3 { #expect(await bench.failure("a slip") == .wrongSecret) }
        #expect(try await replay(to: bench) == 3, "open guesses are answered again")
        bench.clock.advance(by: 120)
        #expect(await bench.failure() == .keyLocked)
    }

    /// A thief who could write to the disk once. Otherwise the owner's own machine would close the thief's later
    /// guesses.
    @Test func `when stored confirmations are forged, then login never repeats them`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let slot = try await bench.slot()
        let later = try OPRF.blind(SecretBytes(utf8: "a guess")).element
        let forged = KeyConfirmation(
            id: slot.keyID, tickets: [OPRFDerivation.ticket(slot.keyID, later)],
            signature: [UInt8](repeating: 7, count: 64))
        let guesses = OwnGuesses(store: bench.store, account: try await bench.account().id)
        for isSent in [true, false] {
            if isSent {
                try await guesses.noteSent([forged])
            } else {
                let account = try await bench.account()
                try await bench.store.apply([guesses.storing(forged, keeping: [slot])], to: account.id)
            }
            try await bench.login()
            let confirmed = bench.service.calls.flatMap { call -> [[UInt8]] in
                if case .confirm(_, let tickets) = call, tickets != forged.tickets { tickets } else { [] }
            }
            #expect(!confirmed.contains(forged.tickets[0]), "\(isSent)")
        }
        #expect(try await guesses.waiting() == [], "a forged one does not block the others")
    }

    /// A thief who could write to the disk once, and who passes all calls on to the right service.
    @Test func `when the service address is forged, then no confirmation leaves`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        var account = try await bench.account()
        let slots = account.keyslots
        account.keyServiceURL = "https://thief.example.com"
        try await bench.store.apply(
            [.removeAccount, .putAccount(account)] + slots.map { .putKeyslot($0) }, to: account.id)
        let before = bench.service.calls.count
        #expect(await bench.failure() == .storeCorrupt)
        for call in bench.service.calls.dropFirst(before) {
            if case .evaluate = call { continue }
            Issue.record("sent: \(call)")
        }
    }

    @Test func `when a new key's element is replayed, then login opens`() async throws {
        let element = FirstElement()
        let bench = OPRFBench { base in RecordingService(base: base, element: element) }
        try await bench.register()
        let slot = try await bench.slot()
        let requestKey = try await requestKey(bench)
        let first = try #require(element.value.withLock { $0 })
        _ = try await bench.service.evaluate(slot.keyID, first, requestKey: requestKey.bytes, at: bench.clock.now)
        bench.clock.advance(by: 120)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openGuesses(of: slot.keyID) == 0)
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
