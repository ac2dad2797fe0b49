import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The state after a failed refresh, and the message to the person.
@Suite struct RefreshFailureTests {
    private func storedToken(_ fixture: Fixture) async throws -> [UInt8]? {
        try await fixture.store.item(.refreshToken, of: fixture.id())
    }

    @Test(arguments: [false, true])
    func `when a refresh token is dead, then renewal reports expiry`(answersEmpty: Bool) async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let before = try await storedToken(fixture)
            if answersEmpty {
                await fixture.provider.setFault(.emptyBadRequest, times: 1)
            } else {
                try await fixture.provider.revokeAllRefreshTokens()
            }
            for _ in 0..<2 {
                let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
                #expect(error?.code == .refreshTokenExpired)
                #expect(error?.description.contains("Register again") == true)
            }
            #expect(try await storedToken(fixture) == before)
            #expect(try await fixture.refreshMark() == nil)
            // The session is over. But a token that is still valid works on.
            #expect(!fixture.vault.auth.isLoggedIn)
            if answersEmpty { try await fixture.login() }
        }
    }

    @Test func `when a refresh answer is lost, then later logins fail`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let before = try await storedToken(fixture)
            await fixture.provider.setFault(.swallowAnswerAfterProcessing, times: 1)
            let first = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(first?.code == .identityProviderInterrupted)
            #expect(try await fixture.refreshMark() == fixture.clock.now)
            #expect(await fixture.refreshes.count == 1)
            // The same holds for the next program.
            for _ in 0..<2 {
                let vault = try await fixture.anotherVault()
                let error = await failure {
                    try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
                }
                #expect(error?.code == .refreshInterrupted)
                #expect(error?.description.contains("Register again") == true)
            }
            #expect(try await storedToken(fixture) == before)
            // Registering again repairs the account. The password stays the same.
            try await fixture.vault.storage.storeRefreshToken(
                fixture.signIn(), withExistingPassword: SecretBytes(utf8: Fixture.password))
            #expect(try await fixture.refreshMark() == nil)
            try await fixture.login()
        }
    }

    @Test func `when the provider is down, then no refresh mark stays`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let before = try await storedToken(fixture)
            await fixture.stopProvider()
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .identityProviderUnavailable)
            #expect(try await fixture.refreshMark() == nil)
            #expect(try await storedToken(fixture) == before)
            // The token at hand is still handed out.
            #expect(try await session.accessToken().isValid(for: .seconds(60), at: fixture.clock.now))
        }
    }

    @Test func `when the provider is busy, then a later refresh works`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.status(503), times: 1)
            #expect(
                await failure { _ = try await session.accessToken(forceRefresh: true) }?.code
                    == .identityProviderUnavailable)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(try await fixture.refreshMark() == nil)
            await fixture.provider.setFault(.status(429), times: 1)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .identityProviderUnavailable && error?.isOutage == true)
            // It was reached.
            #expect(
                error?.description.hasPrefix("The server refused the request after too many attempts: HTTP 429")
                    == true)
            #expect(try await fixture.refreshMark() == nil)
        }
    }

    @Test(arguments: [false, true])
    func `when storing a token fails, then later calls store it`(byLoggingInAgain: Bool) async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            let session = try await fixture.register()
            let old = try await session.accessToken().value
            fixture.clock.advance(by: 200)
            await fixture.provider.setFault(.delayAnswer, times: 1)
            let caller = Task { try await session.accessToken(forceRefresh: true).value }
            await fixture.provider.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await fixture.provider.releaseDelayed()
            let error = await failure { _ = try await caller.value }
            #expect(error?.code == .storeUnreadable)
            #expect(error?.description.contains("could not be stored") == true)
            // While the disk stays full, nobody gets the token, and the provider is not asked again.
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .storeUnreadable)
            #expect(await fixture.refreshes.count == 1)
            store.writeFailure = nil
            if byLoggingInAgain {
                try await fixture.login()
            } else {
                // The old access token is about to end. The kept refresh token gets a new access token.
                fixture.clock.advance(by: 50)
                #expect(try await session.accessToken().value != old)
            }
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1, 2])
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
            #expect(try await fixture.refreshMark() == nil)
        }
    }

    @Test func `when the answer names another person, then it is refused`() async throws {
        try await withFixture { fixture in
            try await fixture.register("alice")
            let bobs = try await fixture.signIn("bob").value
            let before = try await storedToken(fixture)
            let vault = try await fixture.anotherVault(
                transport: RewritingTransport { body in
                    body.replacing(/refresh_token=[^&]+&/, with: "refresh_token=\(bobs)&")
                })
            let error = await failure {
                try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            }
            #expect(error?.code == .tokenInvalid)
            #expect(await fixture.refreshes.map(\.username) == ["bob"])
            #expect(try await storedToken(fixture) == before)
            try await fixture.login()
        }
    }

    @Test func `when ID token verification fails, then the refresh token stays`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            // The provider changes its keys twice within one minute. In this minute the client asks for the keys only
            // once more.
            try await fixture.provider.rotateSigningKey(keepingOld: false)
            _ = try await session.accessToken(forceRefresh: true)
            try await fixture.provider.rotateSigningKey(keepingOld: false)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .tokenInvalid)
            fixture.clock.advance(by: 61)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1, 2, 3])
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when a stored token is damaged, then nothing is sent`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let id = session.id
            for name in [ItemName.refreshToken, .accessToken] {
                let sealed = try #require(try await fixture.store.item(name, of: id))
                var damaged = sealed
                damaged[damaged.count / 2] ^= 1
                try await fixture.store.apply([.putItem(name, damaged)], to: id)
                #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .storeCorrupt)
                #expect(try await fixture.store.item(name, of: id) == damaged)
                try await fixture.store.apply([.putItem(name, sealed)], to: id)
            }
            #expect(await fixture.refreshes == [])
            _ = try await session.accessToken(forceRefresh: true)
        }
    }
}
