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
        _ arrangement: BackendsArrangement = .init(), _ body: (BackendsFixture, _ vault: Vault) async throws -> Void
    ) async throws {
        var arrangement = arrangement
        arrangement.options = { $0.features = nil }
        try await withBackend(arrangement) { fixture in
            let id = try await fixture.register(ServerSignIn(using: BackendsFixture.alice, asking: Typist())).id
            let key = try await fixture.vault.accounts.open(
                fixture.account(), with: .password(SecretBytes(utf8: BackendsFixture.password)))
            try await fixture.store.apply(
                [.putItem(Self.note, await key.seal([1, 2, 3], as: Self.note, of: id))], to: id)
            await fixture.backend.setFeatures(["oauth"])
            await fixture.backend.clearRequests()
            try await body(fixture, fixture.anotherVault())
        }
    }

    private func oauth(_ browser: any UserAgent = BackendsFixture.alice) -> ServerSignIn {
        ServerSignIn(using: browser, choosing: .oauth)
    }

    @discardableResult
    private func switchMethod(
        _ vault: Vault, password: String = BackendsFixture.password, to way: ServerSignIn
    ) async throws -> VaultError? {
        try await vault.auth.switchMethod(userID: "alice", password: SecretBytes(utf8: password), to: way)
    }

    @Test func `when an account switches to OAuth, then its items stay`() async throws {
        try await withAPITokenAccount { fixture, vault in
            let before = try await fixture.account()
            let calls = fixture.keyService.calls
            let left = try await switchMethod(vault, to: oauth())
            #expect(fixture.keyService.calls == calls + 1)
            // The server has no known call that ends an API token.
            #expect(left?.code == .configurationInvalid)
            #expect(vault.auth.isLoggedIn)
            let after = try await fixture.account()
            #expect(after.method == .serverOAuth && !after.clientID.isEmpty)
            #expect(after.id == before.id && after.keyslots == before.keyslots)
            let key = try await vault.accounts.open(
                after, with: .password(SecretBytes(utf8: BackendsFixture.password)))
            let note = try #require(try await fixture.store.item(Self.note, of: after.id))
            #expect(try await key.open(note, as: Self.note, of: after.id) == [1, 2, 3])
            _ = try await vault.auth.accessToken(forceRefresh: true)
            try await fixture.login()
            #expect(await fixture.backend.requests.suffix(2).map(\.presentedGeneration) == [1, 2])
            // The way back to an API token.
            let back = ServerSignIn(using: BackendsFixture.alice, asking: Typist(), choosing: .apiToken)
            try await switchMethod(vault, to: back)
            #expect(try await fixture.account().method == .serverToken)
            try await fixture.login()
        }
    }

    @Test func `when an account switches, then the old token is revoked`() async throws {
        try await withAPITokenAccount(.init(configure: { $0.backend.server.apiTokenRevocation = "/api/auth/end" })) {
            fixture, vault in
            let old = try await fixture.credential().value
            fixture.wire.answer("/api/auth/end", "{}")
            #expect(try await switchMethod(vault, to: oauth()) == nil)
            #expect(fixture.wire.messages.last?.path == "/api/auth/end")
            #expect(fixture.wire.messages.last?.authorization == "Bearer \(old)")
        }
    }

    @Test func `when another person signs in, then the switch is refused`() async throws {
        try await withAPITokenAccount { fixture, vault in
            let (account, sealed) = try await (fixture.account(), fixture.sealedCredential())
            let bob = ScriptedBrowser(username: "bob", password: "bob-password")
            let error = await failure { try await switchMethod(vault, to: oauth(bob)) }
            #expect(error?.code == .tokenInvalid)
            #expect(error?.description.contains("Another person") == true)
            #expect(try await fixture.account() == account)
            #expect(try await fixture.sealedCredential() == sealed)
            try await fixture.login()
        }
    }

    @Test func `when the password is wrong, then no browser opens`() async throws {
        try await withAPITokenAccount { fixture, vault in
            let error = await failure { try await switchMethod(vault, password: "wrong", to: oauth()) }
            #expect(error?.code == .wrongSecret && error?.guessesRemaining == 2)
            #expect(await fixture.asked == [])
        }
    }

    @Test func `when an alias equals the subject, then the account switches`() async throws {
        // Bob was here before alice: his alias is her subject.
        let store = InMemoryStore()
        let bob = AccountID(issuer: "https://other.example", subject: "another")
        let other = Account(
            id: bob, alias: DevelopmentIdentityProvider.User.alice.subject, clientID: "x", keyServiceURL: "x",
            deviceSecret: [], createdAt: Date(timeIntervalSince1970: 0))
        try await store.apply([.putAccount(other)], to: bob)
        try await withAPITokenAccount(.init(store: store)) { fixture, vault in
            let account = try await fixture.account()
            #expect(account.id.subject == other.alias)
            _ = try await vault.auth.switchMethod(
                of: account.id, password: SecretBytes(utf8: BackendsFixture.password), to: oauth())
            #expect(try await fixture.store.account(account.id)?.method == .serverOAuth)
            #expect(try await fixture.store.account(bob)?.method == other.method)
        }
    }

    @Test func `when a switch fails, then the account is unchanged`() async throws {
        let store = InMemoryStore()
        try await withAPITokenAccount(.init(store: store)) { fixture, vault in
            let (account, sealed) = try await (fixture.account(), fixture.sealedCredential())
            let denying = ScriptedBrowser(username: "alice", password: "", choice: .deny)
            #expect(await failure { try await switchMethod(vault, to: oauth(denying)) }?.code == .cancelled)
            await fixture.backend.setFault(.status(500), times: 1, at: .oauthToken)
            #expect(await failure { try await switchMethod(vault, to: oauth()) } != nil)
            await fixture.backend.setFeatures(nil)
            #expect(await failure { try await switchMethod(vault, to: oauth()) }?.code == .configurationInvalid)
            await fixture.backend.setFeatures(["oauth"])
            await fixture.backend.setFault(.delayAnswer, times: 1, at: .profile)
            let caller = Task { try await switchMethod(vault, to: oauth()) }
            await fixture.backend.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await fixture.backend.releaseDelayed()
            #expect(await failure { _ = try await caller.value }?.code == .storeUnreadable)
            store.writeFailure = nil
            #expect(try await fixture.account() == account)
            #expect(try await fixture.sealedCredential() == sealed)
            try await fixture.login()
        }
    }

    @Test func `when an account uses BackendSignIn, then switching is refused`() async throws {
        try await withBackend { fixture in
            try await fixture.register(BackendSignIn(using: BackendsFixture.alice))
            let error = await failure { try await switchMethod(fixture.vault, to: oauth()) }
            #expect(error?.code == .configurationInvalid)
            #expect(await !fixture.asked.contains(.info))
        }
    }
}
