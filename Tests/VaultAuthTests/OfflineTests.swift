import CredentialVault
import Testing
import VaultAuth
import VaultAuthTestSupport
import VaultBase
import VaultDevelopment
import VaultTesting

/// Opening an account without a network.
struct OfflineTests {
    @Test func `when both servers are down, then an offline session opens`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.putNote()
            try await fixture.addOffline()
            let cached = try await fixture.vault.auth.accessToken().value
            let vault = try await fixture.anotherVault()
            fixture.keyService.isReachable = false
            await fixture.provider.setFault(.status(503))
            let session = try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(session.isOffline && session.isOpen && !session.isConfirmed)
            // The stored token, the claims and an app's items are available.
            #expect(try await session.accessToken().value == cached)
            #expect(try await session.refreshToken().identity.email == "alice@example.com")
            let sealed = try #require(try await fixture.store.item(Fixture.note, of: session.id))
            #expect(try await session.openVaultKey().open(sealed, as: Fixture.note, of: session.id) == [1, 2, 3])
            // The first moment online.
            await fixture.provider.setFault(nil)
            let calls = fixture.keyService.calls
            _ = try await session.accessToken(forceRefresh: true)
            #expect(!session.isOffline && session.isConfirmed)
            #expect(fixture.keyService.calls == calls, "nothing is asked again")
        }
    }

    @Test func `when no offline keyslot exists, then an offline login fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            fixture.keyService.isReachable = false
            #expect(await failure { try await fixture.login() }?.code == .keyServiceUnavailable)
            #expect(
                await failure { _ = try await fixture.login(with: .offline(Fixture.password)) }?.code == .notEnrolled)
        }
    }

    @Test func `when an offline session's token is revoked, then renewal fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addOffline()
            fixture.network.isCut.withLock { $0 = true }
            let session = try await fixture.login(with: .offline(Fixture.password))
            #expect(session.isOffline)
            fixture.network.isCut.withLock { $0 = false }
            try await fixture.provider.revokeAllRefreshTokens()
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .refreshTokenExpired)
            #expect(session.refusal != nil && !fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when 14 days offline have passed, then offline login fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addOffline()
            fixture.clock.advance(by: 13 * 86_400)
            _ = try await fixture.login()  // online
            fixture.clock.advance(by: 14 * 86_400)
            await fixture.provider.setFault(.status(503))
            #expect(try await fixture.login(with: .offline(Fixture.password)).isOffline)
            fixture.clock.advance(by: 1)
            let error = await failure { _ = try await fixture.login(with: .offline(Fixture.password)) }
            #expect(error?.code == .offlineTooLong)
            await fixture.provider.setFault(nil)
            try await fixture.login()
            #expect(try await fixture.login(with: .offline(Fixture.password)).isOpen)
        }
    }

    @Test func `when the clock precedes the account's creation, then nothing opens`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addOffline()
            fixture.clock.advance(by: -2 * 86_400)
            #expect(
                await failure { _ = try await fixture.login(with: .offline(Fixture.password)) }?.code == .offlineTooLong
            )
        }
    }

    @Test func `when the clock is set back, then offline days continue`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addOffline()
            await fixture.provider.setFault(.status(503))
            func openOffline() async throws { _ = try await fixture.login(with: .offline(Fixture.password)) }
            fixture.clock.advance(by: 13 * 86_400)
            try await openOffline()
            fixture.clock.advance(by: -12 * 86_400)
            try await openOffline()
            fixture.clock.advance(by: 2 * 86_400)
            let error = await failure { try await openOffline() }
            #expect(error?.code == .offlineTooLong)
            #expect(error?.description.contains("The clock of this machine was set back") == true)
            // Online, the provider's time counts again.
            await fixture.provider.setFault(nil)
            try await fixture.login()
            await fixture.provider.setFault(.status(503))
            fixture.clock.advance(by: 13 * 86_400)
            try await openOffline()
        }
    }

    @Test func `when three offline guesses fail, then a delay survives restarts`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addOffline()
            for _ in 1...3 {
                let wrong = await failure { _ = try await fixture.login(with: .offline("wrong one")) }
                #expect(wrong?.code == .wrongSecret)
            }
            let auth = try await fixture.anotherVault().auth
            let method = try UnlockMethod.offline(Fixture.password)
            let error = await failure { _ = try await auth.login(userID: "alice", with: method) }
            #expect(error?.code == .tooManyAttempts)
            #expect(error?.retryAfter == Duration.seconds(1))
            fixture.clock.advance(by: 1)
            #expect(try await auth.login(userID: "alice", with: method).isOpen)
        }
    }

    @Test func `when the provider is down, then only offline keyslots open`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            await fixture.provider.setFault(.status(503))
            #expect(await failure { try await fixture.login() }?.code == .identityProviderUnavailable)
            await fixture.provider.setFault(nil)
            try await fixture.addOffline()
            await fixture.provider.setFault(.status(503))
            #expect(try await fixture.login().isOffline)
        }
    }
}
