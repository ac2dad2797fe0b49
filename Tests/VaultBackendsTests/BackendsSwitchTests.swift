import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// Moving an account from an API token to OAuth.
@Suite struct BackendsSwitchTests {
    private static let note = ItemName(rawValue: "note")

    /// Runs `body` with an account that was registered when the server had no OAuth. The account has an item of an app.
    private func withAPITokenAccount(
        _ arrangement: BackendsArrangement = .init(), _ body: (BackendsBench, _ vault: Vault) async throws -> Void
    ) async throws {
        var arrangement = arrangement
        arrangement.options = { $0.features = nil }
        try await withBackend(arrangement) { bench in
            let id = try await bench.register(ServerSignIn(using: BackendsBench.alice, asking: Typist())).id
            let key = try await bench.vault.accounts.open(
                bench.account(), with: .password(SecretBytes(utf8: BackendsBench.password)))
            try await bench.store.apply(
                [.putItem(Self.note, await key.seal([1, 2, 3], as: Self.note, of: id))], to: id)
            await bench.backend.setFeatures(["oauth"])
            await bench.backend.clearRequests()
            try await body(bench, bench.anotherVault())
        }
    }

    private func oauth(_ browser: any UserAgent = BackendsBench.alice) -> ServerSignIn {
        ServerSignIn(using: browser, choosing: .oauth)
    }

    @discardableResult
    private func switchMethod(
        _ vault: Vault, password: String = BackendsBench.password, to way: ServerSignIn
    ) async throws -> VaultError? {
        try await vault.auth.switchMethod(userID: "alice", password: SecretBytes(utf8: password), to: way)
    }

    @Test func `when an account switches to OAuth, then its items stay`() async throws {
        try await withAPITokenAccount { bench, vault in
            let before = try await bench.account()
            let calls = bench.keyService.calls
            let left = try await switchMethod(vault, to: oauth())
            #expect(bench.keyService.calls == calls + 1)
            // The server has no known call that ends an API token.
            #expect(left?.code == .configurationInvalid)
            #expect(vault.auth.isLoggedIn)
            let after = try await bench.account()
            #expect(after.method == .serverOAuth && !after.clientID.isEmpty)
            #expect(after.id == before.id && after.keyslots == before.keyslots)
            let key = try await vault.accounts.open(
                after, with: .password(SecretBytes(utf8: BackendsBench.password)))
            let note = try #require(try await bench.store.item(Self.note, of: after.id))
            #expect(try await key.open(note, as: Self.note, of: after.id) == [1, 2, 3])
            _ = try await vault.auth.accessToken(forceRefresh: true)
            try await bench.login()
            #expect(await bench.backend.requests.suffix(2).map(\.presentedGeneration) == [1, 2])
            // The way back to an API token.
            let back = ServerSignIn(using: BackendsBench.alice, asking: Typist(), choosing: .apiToken)
            try await switchMethod(vault, to: back)
            #expect(try await bench.account().method == .serverToken)
            try await bench.login()
        }
    }

    @Test func `when an account switches, then the old token is revoked`() async throws {
        try await withAPITokenAccount(.init(configure: { $0.backend.server.apiTokenRevocation = "/api/auth/end" })) {
            bench, vault in
            let old = try await bench.credential().value
            bench.wire.answer("/api/auth/end", "{}")
            #expect(try await switchMethod(vault, to: oauth()) == nil)
            #expect(bench.wire.messages.last?.path == "/api/auth/end")
            #expect(bench.wire.messages.last?.authorization == "Bearer \(old)")
        }
    }

    @Test func `when another person signs in, then the switch is refused`() async throws {
        try await withAPITokenAccount { bench, vault in
            let (account, sealed) = try await (bench.account(), bench.sealedCredential())
            let bob = ScriptedBrowser(username: "bob", password: "bob-password")
            let error = await failure { try await switchMethod(vault, to: oauth(bob)) }
            #expect(error?.code == .tokenInvalid)
            #expect(error?.description.contains("Another person") == true)
            #expect(try await bench.account() == account)
            #expect(try await bench.sealedCredential() == sealed)
            try await bench.login()
        }
    }

    @Test func `when the password is wrong, then no browser opens`() async throws {
        try await withAPITokenAccount { bench, vault in
            let error = await failure { try await switchMethod(vault, password: "wrong", to: oauth()) }
            #expect(error?.code == .wrongSecret && error?.guessesRemaining == 2)
            #expect(await bench.asked == [])
        }
    }

    @Test func `when a switch fails, then the account is unchanged`() async throws {
        let store = InMemoryStore()
        try await withAPITokenAccount(.init(store: store)) { bench, vault in
            let (account, sealed) = try await (bench.account(), bench.sealedCredential())
            let denying = ScriptedBrowser(username: "alice", password: "", choice: .deny)
            #expect(await failure { try await switchMethod(vault, to: oauth(denying)) }?.code == .cancelled)
            await bench.backend.setFault(.status(500), times: 1, at: .oauthToken)
            #expect(await failure { try await switchMethod(vault, to: oauth()) } != nil)
            await bench.backend.setFeatures(nil)
            #expect(await failure { try await switchMethod(vault, to: oauth()) }?.code == .configurationInvalid)
            await bench.backend.setFeatures(["oauth"])
            await bench.backend.setFault(.delayAnswer, times: 1, at: .profile)
            let caller = Task { try await switchMethod(vault, to: oauth()) }
            await bench.backend.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await bench.backend.releaseDelayed()
            #expect(await failure { _ = try await caller.value }?.code == .storeUnreadable)
            store.writeFailure = nil
            #expect(try await bench.account() == account)
            #expect(try await bench.sealedCredential() == sealed)
            try await bench.login()
        }
    }

    @Test func `when an account uses BackendSignIn, then switching is refused`() async throws {
        try await withBackend { bench in
            try await bench.register(BackendSignIn(using: BackendsBench.alice))
            let error = await failure { try await switchMethod(bench.vault, to: oauth()) }
            #expect(error?.code == .configurationInvalid)
            #expect(await !bench.asked.contains(.info))
        }
    }
}
