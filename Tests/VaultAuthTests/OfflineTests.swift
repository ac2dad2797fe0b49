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
        try await withBench { bench in
            try await bench.register()
            try await bench.putNote()
            try await bench.addOffline()
            let cached = try await bench.vault.auth.accessToken().value
            let vault = try await bench.anotherVault()
            bench.keyService.isReachable = false
            await bench.provider.setFault(.status(503))
            let session = try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Bench.password))
            #expect(session.isOffline && session.isOpen && !session.isConfirmed)
            // The stored token, the claims and an app's items are available.
            #expect(try await session.accessToken().value == cached)
            #expect(try await session.refreshToken().identity.email == "alice@example.com")
            let sealed = try #require(try await bench.store.item(Bench.note, of: session.id))
            #expect(try await session.openVaultKey().open(sealed, as: Bench.note, of: session.id) == [1, 2, 3])
            // The first moment online.
            await bench.provider.setFault(nil)
            let calls = bench.keyService.calls
            _ = try await session.accessToken(forceRefresh: true)
            #expect(!session.isOffline && session.isConfirmed)
            #expect(bench.keyService.calls == calls, "nothing is asked again")
        }
    }

    @Test func `when no offline keyslot exists, then an offline login fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            bench.keyService.isReachable = false
            #expect(await failure { try await bench.login() }?.code == .keyServiceUnavailable)
            #expect(await failure { _ = try await bench.login(with: .offline(Bench.password)) }?.code == .notEnrolled)
        }
    }

    @Test func `when an offline session's token is revoked, then renewal fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addOffline()
            bench.network.isCut.withLock { $0 = true }
            let session = try await bench.login(with: .offline(Bench.password))
            #expect(session.isOffline)
            bench.network.isCut.withLock { $0 = false }
            try await bench.provider.revokeAllRefreshTokens()
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .refreshTokenExpired)
            #expect(session.refusal != nil && !bench.vault.auth.isLoggedIn)
        }
    }

    @Test func `when 14 days offline have passed, then offline login fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addOffline()
            bench.clock.advance(by: 13 * 86_400)
            _ = try await bench.login()  // online
            bench.clock.advance(by: 14 * 86_400)
            await bench.provider.setFault(.status(503))
            #expect(try await bench.login(with: .offline(Bench.password)).isOffline)
            bench.clock.advance(by: 1)
            let error = await failure { _ = try await bench.login(with: .offline(Bench.password)) }
            #expect(error?.code == .offlineTooLong)
            await bench.provider.setFault(nil)
            try await bench.login()
            #expect(try await bench.login(with: .offline(Bench.password)).isOpen)
        }
    }

    @Test func `when the clock precedes the account's creation, then nothing opens`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addOffline()
            bench.clock.advance(by: -2 * 86_400)
            #expect(
                await failure { _ = try await bench.login(with: .offline(Bench.password)) }?.code == .offlineTooLong)
        }
    }

    @Test func `when the clock is set back, then offline days continue`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addOffline()
            await bench.provider.setFault(.status(503))
            func openOffline() async throws { _ = try await bench.login(with: .offline(Bench.password)) }
            bench.clock.advance(by: 13 * 86_400)
            try await openOffline()
            bench.clock.advance(by: -12 * 86_400)
            try await openOffline()
            bench.clock.advance(by: 2 * 86_400)
            let error = await failure { try await openOffline() }
            #expect(error?.code == .offlineTooLong)
            #expect(error?.description.contains("The clock of this machine was set back") == true)
            // Online, the provider's time counts again.
            await bench.provider.setFault(nil)
            try await bench.login()
            await bench.provider.setFault(.status(503))
            bench.clock.advance(by: 13 * 86_400)
            try await openOffline()
        }
    }

    @Test func `when three offline guesses fail, then a delay survives restarts`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addOffline()
            for _ in 1...3 {
                let wrong = await failure { _ = try await bench.login(with: .offline("wrong one")) }
                #expect(wrong?.code == .wrongSecret)
            }
            let auth = try await bench.anotherVault().auth
            let method = try UnlockMethod.offline(Bench.password)
            let error = await failure { _ = try await auth.login(userID: "alice", with: method) }
            #expect(error?.code == .tooManyAttempts)
            #expect(error?.retryAfter == Duration.seconds(1))
            bench.clock.advance(by: 1)
            #expect(try await auth.login(userID: "alice", with: method).isOpen)
        }
    }

    @Test func `when the provider is down, then only offline keyslots open`() async throws {
        try await withBench { bench in
            try await bench.register()
            await bench.provider.setFault(.status(503))
            #expect(await failure { try await bench.login() }?.code == .identityProviderUnavailable)
            await bench.provider.setFault(nil)
            try await bench.addOffline()
            await bench.provider.setFault(.status(503))
            #expect(try await bench.login().isOffline)
        }
    }
}
