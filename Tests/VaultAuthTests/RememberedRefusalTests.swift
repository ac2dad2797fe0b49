import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The provider's final refusal, as a program finds it that was started later.
@Suite(.timeLimit(.minutes(1))) struct RememberedRefusalTests {
    private func refuse(_ fixture: Fixture) async throws -> Session {
        let session = try await fixture.register()
        try await fixture.provider.revokeAllRefreshTokens()
        fixture.clock.advance(by: 60)
        #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .refreshTokenExpired)
        return session
    }

    private func refusedAt(_ fixture: Fixture) async throws -> Date? {
        try await fixture.store.account(fixture.id())?.refusedAt
    }

    /// The state that a program finds which was started now.
    private func state(_ fixture: Fixture) async throws -> RestoredSession {
        try await fixture.anotherVault().auth.restoreSession(userID: "alice")
    }

    @Test func `when a refusal was final, then restoring needs no password`() async throws {
        try await withFixture { fixture in
            let session = try await refuse(fixture)
            #expect(try await refusedAt(fixture) == fixture.clock.now)
            #expect(try await fixture.vault.storage.hasRefreshToken(userID: "alice"))
            let (calls, asked) = (fixture.keyService.calls, await fixture.provider.requests.count)
            let restored = try await state(fixture)
            #expect(restored.state == .expired && restored.error?.code == .refreshTokenExpired)
            #expect(restored.error?.description.contains("Register again") == true)
            // Nobody was asked for that.
            #expect(fixture.keyService.calls == calls)
            #expect(await fixture.provider.requests.count == asked)
            // The same holds in this program, after the session was locked.
            await session.lock()
            #expect(try await fixture.vault.auth.restoreSession(userID: "alice").state == .expired)
        }
    }

    @Test func `when a refresh broke off, then the refusal says so`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.swallowAnswerAfterProcessing, times: 1)
            _ = await failure { _ = try await session.accessToken(forceRefresh: true) }
            // Nobody knows yet whether the token is dead.
            #expect(try await refusedAt(fixture) == nil)
            #expect(try await state(fixture).state == .locked)
            let vault = try await fixture.anotherVault()
            _ = await failure {
                try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            }
            let restored = try await state(fixture)
            #expect(restored.state == .expired && restored.error?.code == .refreshInterrupted)
        }
    }

    @Test func `when the provider is away, then no refusal is remembered`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            for fault in [ProviderFault.status(503), .status(429), .status(500), .error("unauthorized_client")] {
                await fixture.provider.setFault(fault, times: 1)
                #expect(await failure { _ = try await session.accessToken(forceRefresh: true) } != nil)
                #expect(try await refusedAt(fixture) == nil, "\(fault)")
            }
            await fixture.provider.setFault(nil)
            await fixture.stopProvider()
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) } != nil)
            #expect(try await refusedAt(fixture) == nil)
            #expect(try await state(fixture).state == .locked)
        }
    }

    @Test func `when a refusal has no text, then nothing is remembered`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.emptyBadRequest, times: 1)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .refreshTokenExpired && session.refusal != nil)
            #expect(try await refusedAt(fixture) == nil)
            #expect(try await state(fixture).state == .locked)
            try await fixture.login()
        }
    }

    @Test func `when a refusal is remembered, then its error says so`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.error("invalid_grant"), times: 1)
            let first = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(first?.detail == nil)
            let later = try await state(fixture).error
            #expect(later?.detail == .refusalNoted && later?.value == "alice")
        }
    }

    @Test func `when the account is registered again, then it is locked`() async throws {
        try await withFixture { fixture in
            _ = try await refuse(fixture)
            try await fixture.vault.storage.storeRefreshToken(
                fixture.signIn(), withExistingPassword: SecretBytes(utf8: Fixture.password))
            #expect(try await refusedAt(fixture) == nil)
            #expect(try await state(fixture).state == .locked)
        }
    }

    @Test func `when an app sets new tokens, then the refusal ends`() async throws {
        try await withFixture { fixture in
            let session = try await refuse(fixture)
            let other = try await fixture.signIn()
            let access = try #require(other.accessToken?.value)
            try await fixture.vault.auth.setTokens(access: access, refresh: other.value)
            #expect(try await refusedAt(fixture) == nil)
            #expect(try await session.accessToken().value == access)
            #expect(try await state(fixture).state == .locked)
        }
    }

    @Test func `when the provider accepts the token again, then nothing remains`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.error("invalid_grant"), times: 1)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) } != nil)
            #expect(try await refusedAt(fixture) != nil)
            // An app may still try the password, and the provider decides.
            try await fixture.login()
            #expect(try await refusedAt(fixture) == nil)
        }
    }

    @Test func `when refused tokens are cleared, then the items stay`() async throws {
        try await withFixture { fixture in
            let session = try await refuse(fixture)
            try await fixture.putNote()
            try await fixture.vault.ownAuth.forgetTokens(of: session.id)
            #expect(try await refusedAt(fixture) == nil)
            #expect(try await !fixture.vault.storage.hasRefreshToken(userID: "alice"))
            #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])
        }
    }
}
