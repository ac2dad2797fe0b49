import Foundation
import KeyServiceClient
import Testing
import VaultCrypto
import VaultHTTP
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// The last guess at the key service, after answers were lost or logins were cancelled.
@Suite(.timeLimit(.minutes(2))) struct LastGuessTests {
    @Test func `when new answers get lost, then the last guess stays`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        let cut = fixture.restarted { FirstAnswersLost(base: $0) }
        for expected in [VaultError.Code.keyServiceUnavailable, .keyServiceUnavailable, .lastGuess, .lastGuess] {
            #expect(await cut.failure() == expected)
            fixture.clock.advance(by: 60)
        }
        #expect(fixture.service.openGuesses(of: key) == 2)
        #expect(await fixture.failure() == .lastGuess, "also when the network is whole again")
        let method = try UnlockMethod.password(SecretBytes(utf8: OPRFFixture.password)).spendingLastGuess
        #expect(try await fixture.login(with: method) == nil)
        #expect(fixture.service.openGuesses(of: key) == 0)
        #expect(try await fixture.login() == nil, "all guesses are there again")
    }

    @Test func `when answers vanish after a typo, then one guess stays`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        #expect(await fixture.failure("a slip") == .wrongSecret)
        #expect(await fixture.restarted { FirstAnswersLost(base: $0) }.failure() == .keyServiceUnavailable)
        fixture.clock.advance(by: 60)
        do {
            try await fixture.login()
            Issue.record("it opened")
        } catch let error as VaultError {
            #expect(error.code == .lastGuess && error.unlockMethod == .password)
            #expect(error.description.contains("One more lost answer locks the password,"))
        }
    }

    @Test func `when two typos are answered, then the next login opens`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        for _ in 0..<2 { #expect(await fixture.failure("a slip") == .wrongSecret) }
        #expect(try await fixture.restarted().login() == nil)
    }

    @Test(arguments: [(2, 3), (Int.max, Int.max), (Int.min, Int.min + 1)])
    func `when a service names any number of guesses, then the limit is a number`(left: Int, limit: Int) throws {
        let element = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
        let ticket = [UInt8](repeating: 7, count: 16)
        let answer = Evaluation(
            element: element, ticket: ticket, guessesRemaining: left, open: [.init(ticket: ticket, date: Date())])
        #expect(answer.limit == limit)
    }

    @Test func `when noted guesses never reach the service, then login opens`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let slot = try await fixture.slot()
        let guesses = OwnGuesses(store: fixture.store, account: try await fixture.account().id)
        for _ in 0..<3 {
            let element = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
            try await guesses.note(element, at: slot.keyID)
        }
        #expect(try await fixture.login() == nil, "the service answers that two guesses are left")
    }

    @Test func `when the operator unlocks a key, then counting restarts`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        for _ in 0..<3 { #expect(await fixture.failure("a slip") == .wrongSecret) }
        fixture.clock.advance(by: 60)
        #expect(await fixture.failure() == .keyLocked)
        fixture.service.unlock(key)
        for open in 1...2 {
            #expect(await fixture.failure("a slip") == .wrongSecret)
            #expect(fixture.service.openGuesses(of: key) == open)
        }
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    @Test func `when another program guesses, then the last guess stays unspent`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        for _ in 0..<2 { #expect(await fixture.failure("a slip") == .wrongSecret) }
        let id = try await fixture.account().id
        let turn = AccountID(issuer: "guesses at " + id.issuer, subject: id.subject)
        let other = try await fixture.store.withLock(on: turn) { $0 }
        #expect(await fixture.failure() == .busy)
        withExtendedLifetime(other) {}
        #expect(fixture.service.openGuesses(of: try await fixture.slot().keyID) == 2)
    }

    @Test func `when a login is cancelled, then its guess still closes`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let key = try await fixture.slot().keyID
        for _ in 0..<4 {
            let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
            let (answers, answer) = AsyncStream.makeStream(of: Void.self)
            let slow = fixture.restarted { SlowAnswers(base: $0, arrival, answers) }
            let login = Task { try await slow.login() }
            for await _ in arrived { break }
            login.cancel()
            #expect(slow.accounts.stopGuard.isFinishingGuess && !slow.accounts.stopGuard.close())
            answer.finish()
            await #expect(throws: VaultError.self) { try await login.value }
            #expect(!slow.accounts.stopGuard.isFinishingGuess)
            fixture.clock.advance(by: 60)
        }
        #expect(try await fixture.login() == nil)
        #expect(fixture.service.evaluations(of: key) == OPRFFixture.evaluationsOfNewKey + 5)
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    @Test func `when a guess cannot be noted, then none is sent`() async throws {
        let store = InMemoryStore()
        let fixture = OPRFFixture(store: store)
        try await fixture.register()
        store.writeFailure = StoreError(.unreadable, "The disk is full.")
        #expect(await fixture.failure() == .storeUnreadable)
        #expect(fixture.service.evaluations(of: try await fixture.slot().keyID) == OPRFFixture.evaluationsOfNewKey)
        store.writeFailure = nil
        #expect(try await fixture.login() == nil)
    }

    @Test func `when the own-guess record overflows, then it counts as empty`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let (id, key) = (try await fixture.account().id, try await fixture.slot().keyID)
        let one = Array(
            try JSONEncoder().encode(KeyConfirmation(id: key, tickets: [], signature: [UInt8](repeating: 7, count: 64)))
        )
        let many = (0..<59_999).reduce(into: one) { bytes, _ in bytes += [UInt8(ascii: ",")] + one }
        let guesses = OwnGuesses(store: fixture.store, account: id)
        for (count, isRead) in [(one, true), (many, false)] {
            let record = Array(#"{"sent":{},"guesses":{},"waiting":["#.utf8) + count + Array("]}".utf8)
            try await fixture.store.apply(
                [.changeRecord(id.recordPrefix + "own-guesses", mayBeLost: false) { $0 = record }], to: id)
            #expect(try await guesses.waiting().isEmpty == !isRead)
        }
        #expect(try await fixture.login() == nil)
        let left = try await fixture.store.withRecord(id.recordPrefix + "own-guesses") { $0?.count ?? 0 }
        #expect(left <= 1 << 20)
    }

    // MARK: - What the owner of a locked key learns

    @Test func `when a thief locks the key, then login reports guesses`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        try await fixture.login()
        let thief = try await fixture.thief()
        for _ in 0..<3 { #expect(await thief.failure("a guess") == .wrongSecret) }
        fixture.clock.advance(by: 3600)
        let error = try await fixture.lockedError()
        #expect(error.description.contains("At least 3 guesses were not made with this store."))
        let operators = try #require(error.description.range(of: "The operator of the key service can unlock"))
        let register = try #require(error.description.range(of: "register again"))
        #expect(error.detail == .noOtherMethod)
        #expect(operators.lowerBound < register.lowerBound)
        let told = try #require(await KeyslotNotes(store: fixture.store, account: fixture.account().id).told())
        #expect(told.count == 3 && told.mayBeRight && told.keyslot == "password")
    }

    @Test func `when recovery guesses remain, then the error suggests no registration`() {
        for (left, detail) in [(2, nil), (0, .noOtherMethod), (nil, .noOtherMethod)] as [(Int?, VaultError.Detail?)] {
            let error = KeyServiceError(.wrongSecret, "wrong", guessesRemaining: left)
            #expect(VaultError(error, secret: .recovery).detail == detail)
        }
    }

    @Test func `when lost answers lock the key, then login reports them`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let cut = fixture.restarted { FirstAnswersLost(base: $0) }
        let method = try UnlockMethod.password(SecretBytes(utf8: OPRFFixture.password)).spendingLastGuess
        for _ in 0..<3 {
            #expect(await cut.failure { try await cut.login(with: method) } == .keyServiceUnavailable)
            fixture.clock.advance(by: 60)
        }
        // The own guesses are open, so a repeat of one of them is answered. A new one is not.
        #expect(await cut.failure { try await cut.login(with: method) } == .keyLocked)
        let error = try await fixture.lockedError(method)
        #expect(error.description.contains("3 guesses of this machine were cut off before the answer came."))
        #expect(error.description.contains("Your password may be right."))
    }

    @Test func `when slips follow a lost answer, then login stays locked`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        fixture.service.lostAnswers = 100
        #expect(await fixture.failure() == .keyServiceUnavailable)
        fixture.service.lostAnswers = 0
        #expect(await fixture.failure("a slip") == .wrongSecret)
        let slip = try UnlockMethod.password(SecretBytes(utf8: "a second slip")).spendingLastGuess
        #expect(await fixture.failure { try await fixture.login(with: slip) } == .wrongSecret)
        fixture.clock.advance(by: 60)
        for _ in 1...2 { #expect(await fixture.failure() == .keyLocked) }
    }

    @Test func `when confirmations get lost, then login warns of no thief`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        fixture.service.losesConfirms = true
        for _ in 0..<3 { #expect(try await fixture.login() == nil) }
        fixture.clock.advance(by: 60)
        // The key is locked only until they arrive.
        let error = await #expect(throws: VaultError.self) { try await fixture.login() }
        #expect(error?.code == .keyServiceUnavailable)
        #expect(error?.description.contains("messages of this machine") == true)
        #expect(try await fixture.accounts.refusedKeyslots(of: fixture.account()).isEmpty)
        #expect(try await KeyslotNotes(store: fixture.store, account: fixture.account().id).told() == nil)
        fixture.service.losesConfirms = false
        #expect(try await fixture.login() == nil)
    }

    @Test func `when the PIN is locked, then no message suggests it`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        try await fixture.login()
        try await fixture.accounts.addPIN(SecretBytes(utf8: "826493"), to: fixture.account(), vaultKey: vaultKey)
        for _ in 0..<3 {
            #expect(
                await fixture.failure { try await fixture.login(with: .pin(SecretBytes(utf8: "111111"))) }
                    == .wrongSecret)
        }
        for _ in 0..<3 { #expect(await fixture.failure("a slip") == .wrongSecret) }
        fixture.clock.advance(by: 60)
        #expect(try await !fixture.lockedError().description.contains("still opens the account"))
    }
}

extension OPRFFixture {
    /// The error of a login at a locked key.
    fileprivate func lockedError(_ method: UnlockMethod? = nil) async throws -> VaultError {
        do {
            try await login(with: method ?? .password(SecretBytes(utf8: Self.password)))
        } catch let error as VaultError where error.code == .keyLocked {
            return error
        }
        Issue.record("it opened")
        return VaultError(.cancelled, "it opened")
    }
}

/// A key service whose answer to each new element is lost. Repeated ones are answered.
private struct FirstAnswersLost: WrappedOPRFService {
    let base: any OPRFKeyService

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let before = (base as? InMemoryOPRFKeyService)?.evaluations(of: id)
        let answer = try await base.evaluate(id, blinded, requestKey: requestKey, at: date)
        guard (base as? InMemoryOPRFKeyService)?.evaluations(of: id) != before else { return answer }
        throw KeyServiceError(
            .unavailable, "The key service does not answer.",
            underlying: HTTPError(.timedOut, authority: "keys.example"))
    }
}

/// A key service that says when a guess has arrived, and answers when it may.
private struct SlowAnswers: WrappedOPRFService {
    let base: any OPRFKeyService
    private let arrival: AsyncStream<Void>.Continuation
    private let answers: AsyncStream<Void>

    init(
        base: any OPRFKeyService, _ arrival: AsyncStream<Void>.Continuation, _ answers: AsyncStream<Void>
    ) {
        (self.base, self.arrival, self.answers) = (base, arrival, answers)
    }

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let key = SharedSecret(try requestKey.copy())
        let answer = try await base.evaluate(id, blinded, requestKey: key.bytes, at: date)
        arrival.yield()
        for await _ in answers {}
        return answer
    }
}
