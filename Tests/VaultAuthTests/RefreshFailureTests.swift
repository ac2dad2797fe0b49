import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The state after a failed refresh, and the message to the person.
@Suite struct RefreshFailureTests {
    private func storedToken(_ bench: Bench) async throws -> [UInt8]? {
        try await bench.store.item(.refreshToken, of: bench.id())
    }

    @Test(arguments: [false, true])
    func `when a refresh token is dead, then renewal reports expiry`(answersEmpty: Bool) async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let before = try await storedToken(bench)
            if answersEmpty {
                await bench.provider.setFault(.emptyBadRequest, times: 1)
            } else {
                try await bench.provider.revokeAllRefreshTokens()
            }
            for _ in 0..<2 {
                let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
                #expect(error?.code == .refreshTokenExpired)
                #expect(error?.description.contains("Register again") == true)
            }
            #expect(try await storedToken(bench) == before)
            #expect(try await bench.refreshMark() == nil)
            // The session is over. But a token that is still valid works on.
            #expect(!bench.vault.auth.isLoggedIn)
            if answersEmpty { try await bench.login() }
        }
    }

    @Test func `when a refresh answer is lost, then later logins fail`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let before = try await storedToken(bench)
            await bench.provider.setFault(.swallowAnswerAfterProcessing, times: 1)
            let first = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(first?.code == .identityProviderInterrupted)
            #expect(try await bench.refreshMark() == bench.clock.now)
            #expect(await bench.refreshes.count == 1)
            // The same holds for the next program.
            for _ in 0..<2 {
                let vault = try await bench.anotherVault()
                let error = await failure {
                    try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Bench.password))
                }
                #expect(error?.code == .refreshInterrupted)
                #expect(error?.description.contains("Register again") == true)
            }
            #expect(try await storedToken(bench) == before)
            // Registering again repairs the account. The password stays the same.
            try await bench.vault.storage.storeRefreshToken(
                bench.signIn(), withExistingPassword: SecretBytes(utf8: Bench.password))
            #expect(try await bench.refreshMark() == nil)
            try await bench.login()
        }
    }

    @Test func `when the provider is down, then no refresh mark stays`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let before = try await storedToken(bench)
            await bench.stopProvider()
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .identityProviderUnavailable)
            #expect(try await bench.refreshMark() == nil)
            #expect(try await storedToken(bench) == before)
            // The token at hand is still handed out.
            #expect(try await session.accessToken().isValid(for: .seconds(60), at: bench.clock.now))
        }
    }

    @Test func `when the provider is busy, then a later refresh works`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            await bench.provider.setFault(.status(503), times: 1)
            #expect(
                await failure { _ = try await session.accessToken(forceRefresh: true) }?.code
                    == .identityProviderUnavailable)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(try await bench.refreshMark() == nil)
            await bench.provider.setFault(.status(429), times: 1)
            #expect(
                await failure { _ = try await session.accessToken(forceRefresh: true) }?.code
                    == .identityProviderUnavailable)
            #expect(try await bench.refreshMark() == nil)
        }
    }

    @Test(arguments: [false, true])
    func `when storing a token fails, then later calls store it`(byLoggingInAgain: Bool) async throws {
        let store = InMemoryStore()
        try await withBench(store: store) { bench in
            let session = try await bench.register()
            let old = try await session.accessToken().value
            bench.clock.advance(by: 200)
            await bench.provider.setFault(.delayAnswer, times: 1)
            let caller = Task { try await session.accessToken(forceRefresh: true).value }
            await bench.provider.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await bench.provider.releaseDelayed()
            let error = await failure { _ = try await caller.value }
            #expect(error?.code == .storeUnreadable)
            #expect(error?.description.contains("could not be stored") == true)
            // While the disk stays full, nobody gets the token, and the provider is not asked again.
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .storeUnreadable)
            #expect(await bench.refreshes.count == 1)
            store.writeFailure = nil
            if byLoggingInAgain {
                try await bench.login()
            } else {
                // The old access token is about to end. The kept refresh token gets a new access token.
                bench.clock.advance(by: 50)
                #expect(try await session.accessToken().value != old)
            }
            #expect(await bench.refreshes.map(\.presentedGeneration) == [1, 2])
            #expect(await bench.refreshes.allSatisfy { $0.outcome == .ok })
            #expect(try await bench.refreshMark() == nil)
        }
    }

    @Test func `when the answer names another person, then it is refused`() async throws {
        try await withBench { bench in
            try await bench.register("alice")
            let bobs = try await bench.signIn("bob").value
            let before = try await storedToken(bench)
            let vault = try await bench.anotherVault(
                transport: RewritingTransport { body in
                    body.replacing(/refresh_token=[^&]+&/, with: "refresh_token=\(bobs)&")
                })
            let error = await failure {
                try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Bench.password))
            }
            #expect(error?.code == .tokenInvalid)
            #expect(await bench.refreshes.map(\.username) == ["bob"])
            #expect(try await storedToken(bench) == before)
            try await bench.login()
        }
    }

    @Test func `when ID token verification fails, then the refresh token stays`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            // The provider changes its keys twice within one minute. In this minute the client asks for the keys only
            // once more.
            try await bench.provider.rotateSigningKey(keepingOld: false)
            _ = try await session.accessToken(forceRefresh: true)
            try await bench.provider.rotateSigningKey(keepingOld: false)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .tokenInvalid)
            bench.clock.advance(by: 61)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await bench.refreshes.map(\.presentedGeneration) == [1, 2, 3])
            #expect(await bench.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when a stored token is damaged, then nothing is sent`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let id = session.id
            for name in [ItemName.refreshToken, .accessToken] {
                let sealed = try #require(try await bench.store.item(name, of: id))
                var damaged = sealed
                damaged[damaged.count / 2] ^= 1
                try await bench.store.apply([.putItem(name, damaged)], to: id)
                #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .storeCorrupt)
                #expect(try await bench.store.item(name, of: id) == damaged)
                try await bench.store.apply([.putItem(name, sealed)], to: id)
            }
            #expect(await bench.refreshes == [])
            _ = try await session.accessToken(forceRefresh: true)
        }
    }
}
