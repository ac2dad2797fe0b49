import Foundation
import KeyServiceClient
import Testing
import VaultBase
import VaultCrypto
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// Guesses that were too young to judge at a login.
@Suite(.timeLimit(.minutes(2))) struct LaterQuestionTests {
    @Test func `when young guesses stay open, then a notice follows later`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let slot = try await fixture.slot()
        let thief = try await fixture.thief()
        for _ in 0..<2 { #expect(await thief.failure("a guess") == .wrongSecret) }
        fixture.clock.advance(by: 30)
        #expect(try await fixture.login() == nil, "perhaps parallel logins")
        fixture.clock.advance(by: 61)
        try await fixture.accounts.askLaterQuestions(of: fixture.account().id).value
        let notice = try #require(fixture.told.notices.first)
        #expect(notice.code == .wrongGuesses && notice.count == 2 && notice.mayBeRight && !notice.isRenewed)
        #expect(fixture.service.openGuesses(of: slot.keyID) == 2, "the question's own guess is closed")
        try await fixture.accounts.askLaterQuestions(of: fixture.account().id).value
        #expect(fixture.told.notices.count == 1, "it is told once")
        #expect(try await fixture.login()?.isRenewed == true)
    }

    @Test func `when a parallel login is confirmed, then no notice follows`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let other = try await fixture.copied()
        fixture.service.losesConfirms = true
        try await other.login()
        fixture.clock.advance(by: 30)
        #expect(try await fixture.login() == nil)
        fixture.service.losesConfirms = false
        try await other.accounts.keys(2, at: OPRFFixture.url).sendConfirmations(of: other.account())
        try await fixture.accounts.keys(2, at: OPRFFixture.url).sendConfirmations(of: fixture.account())
        fixture.clock.advance(by: 61)
        try await fixture.accounts.askLaterQuestions(of: fixture.account().id).value
        #expect(fixture.told.notices == [])
        #expect(fixture.service.openGuesses(of: try await fixture.slot().keyID) == 0)
    }

    @Test func `when a question's guess stays open, then notices exclude it`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let thief = try await fixture.thief()
        #expect(await thief.failure("a guess") == .wrongSecret)
        try await fixture.login()
        fixture.clock.advance(by: 61)
        fixture.service.lostAnswers = 3
        fixture.service.losesConfirms = true
        try await fixture.accounts.askLaterQuestions(of: fixture.account().id).value
        let slot = try await fixture.slot()
        #expect(fixture.service.openGuesses(of: slot.keyID) == 2)
        fixture.service.losesConfirms = false
        #expect(try await fixture.login()?.count == 1, "only the thief's guess is strange")
    }

    @Test func `when answers are lost, then the next program asks again`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let (slot, thief) = (try await fixture.slot(), try await fixture.thief())
        for _ in 0..<2 { #expect(await thief.failure("a guess") == .wrongSecret) }
        try await fixture.login()
        fixture.clock.advance(by: 61)
        let id = try await fixture.account().id
        for _ in 0..<3 {
            let program = fixture.restarted()
            fixture.service.lostAnswers = 3
            await program.accounts.askLaterQuestions(of: id).value
            fixture.service.lostAnswers = 0
            #expect(program.told.notices == [])
        }
        let last = fixture.restarted()
        await last.accounts.askLaterQuestions(of: id).value
        let notice = try #require(last.told.notices.first)
        #expect(notice.code == .wrongGuesses && notice.count == 2)
        #expect(fixture.service.openGuesses(of: slot.keyID) == 2, "the question's own guesses are closed")
        let next = fixture.restarted()
        await next.accounts.askLaterQuestions(of: id).value
        #expect(next.told.notices == [], "it is told once")
    }

    @Test func `when a stored question is forged, then no program asks`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let slot = try await fixture.slot()
        let forged = try LaterQuestion(
            about: slot.keyID, SigningKey(seed: SecretBytes.random(count: 32)), judgesGuesses: true,
            now: fixture.clock.now)
        let guesses = OwnGuesses(store: fixture.store, account: try await fixture.account().id)
        let confirmation = KeyConfirmation(id: slot.keyID, tickets: [], signature: [])
        try await fixture.store.apply(
            [guesses.storing(confirmation, keeping: [], question: forged)], to: fixture.account().id)
        fixture.clock.advance(by: 61)
        try await fixture.accounts.askLaterQuestions(of: fixture.account().id).value
        #expect(fixture.service.evaluations(of: slot.keyID) == OPRFFixture.evaluationsOfNewKey)
        #expect(try await guesses.questions().isEmpty)
    }
}
