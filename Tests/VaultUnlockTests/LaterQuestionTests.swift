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
        let bench = OPRFBench()
        try await bench.register()
        let slot = try await bench.slot()
        let thief = try await bench.thief()
        for _ in 0..<2 { #expect(await thief.failure("a guess") == .wrongSecret) }
        bench.clock.advance(by: 30)
        #expect(try await bench.login() == nil, "perhaps parallel logins")
        bench.clock.advance(by: 61)
        try await bench.accounts.askLaterQuestions(of: bench.account().id).value
        let notice = try #require(bench.told.notices.first)
        #expect(notice.code == .wrongGuesses && notice.count == 2 && notice.mayBeRight && !notice.isRenewed)
        #expect(bench.service.openGuesses(of: slot.keyID) == 2, "the question's own guess is closed")
        try await bench.accounts.askLaterQuestions(of: bench.account().id).value
        #expect(bench.told.notices.count == 1, "it is told once")
        #expect(try await bench.login()?.isRenewed == true)
    }

    @Test func `when a parallel login is confirmed, then no notice follows`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let other = try await bench.copied()
        bench.service.losesConfirms = true
        try await other.login()
        bench.clock.advance(by: 30)
        #expect(try await bench.login() == nil)
        bench.service.losesConfirms = false
        try await other.accounts.oprfKeys(at: OPRFBench.url).sendConfirmations(of: other.account())
        try await bench.accounts.oprfKeys(at: OPRFBench.url).sendConfirmations(of: bench.account())
        bench.clock.advance(by: 61)
        try await bench.accounts.askLaterQuestions(of: bench.account().id).value
        #expect(bench.told.notices == [])
        #expect(bench.service.openGuesses(of: try await bench.slot().keyID) == 0)
    }

    @Test func `when a question's guess stays open, then notices exclude it`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let thief = try await bench.thief()
        #expect(await thief.failure("a guess") == .wrongSecret)
        try await bench.login()
        bench.clock.advance(by: 61)
        bench.service.lostAnswers = 3
        bench.service.losesConfirms = true
        try await bench.accounts.askLaterQuestions(of: bench.account().id).value
        let slot = try await bench.slot()
        #expect(bench.service.openGuesses(of: slot.keyID) == 2)
        bench.service.losesConfirms = false
        #expect(try await bench.login()?.count == 1, "only the thief's guess is strange")
    }

    @Test func `when answers are lost, then the next program asks again`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let (slot, thief) = (try await bench.slot(), try await bench.thief())
        for _ in 0..<2 { #expect(await thief.failure("a guess") == .wrongSecret) }
        try await bench.login()
        bench.clock.advance(by: 61)
        let id = try await bench.account().id
        for _ in 0..<3 {
            let program = bench.restarted()
            bench.service.lostAnswers = 3
            await program.accounts.askLaterQuestions(of: id).value
            bench.service.lostAnswers = 0
            #expect(program.told.notices == [])
        }
        let last = bench.restarted()
        await last.accounts.askLaterQuestions(of: id).value
        let notice = try #require(last.told.notices.first)
        #expect(notice.code == .wrongGuesses && notice.count == 2)
        #expect(bench.service.openGuesses(of: slot.keyID) == 2, "the question's own guesses are closed")
        let next = bench.restarted()
        await next.accounts.askLaterQuestions(of: id).value
        #expect(next.told.notices == [], "it is told once")
    }

    @Test func `when a stored question is forged, then no program asks`() async throws {
        let bench = OPRFBench()
        try await bench.register()
        let slot = try await bench.slot()
        let forged = try LaterQuestion(
            about: slot.keyID, SigningKey(seed: SecretBytes.random(count: 32)), judgesGuesses: true,
            now: bench.clock.now)
        let guesses = OwnGuesses(store: bench.store, account: try await bench.account().id)
        let confirmation = KeyConfirmation(id: slot.keyID, tickets: [], signature: [])
        try await bench.store.apply(
            [guesses.storing(confirmation, keeping: [], question: forged)], to: bench.account().id)
        bench.clock.advance(by: 61)
        try await bench.accounts.askLaterQuestions(of: bench.account().id).value
        #expect(bench.service.evaluations(of: slot.keyID) == OPRFBench.evaluationsOfNewKey)
        #expect(try await guesses.questions().isEmpty)
    }
}
