import CredentialVault
import Observation
import Testing
import VaultObservation
import VaultTesting

/// What a window shows of a vault.
@MainActor
@Suite(.timeLimit(.minutes(1))) struct ObservedVaultTests {
    private static let password = "tea at half past four"
    private let test = TestVault(displayClaims: ["name"])

    private func password(_ text: String = password) throws -> UnlockMethod {
        .password(consuming: try SecretBytes(utf8: text))
    }

    /// Runs a test with a window that follows the vault.
    private func withWindow(_ body: (ObservedVault) async throws -> Void) async throws {
        let window = ObservedVault(Vault(auth: test.auth, storage: test.storage))
        let following = Task { await window.follow() }
        defer { following.cancel() }
        try await body(window)
    }

    /// Waits until the window shows a state.
    private func wait(for isShown: @escaping @MainActor @Sendable () -> Bool) async {
        for await isShown in Observations({ isShown() }) where isShown { return }
    }

    @Test func `when a person logs in, then the window shows the person`() async throws {
        let alice = try await test.addAccount("alice", name: "Alice Adams", password: Self.password)
        try await test.addAccount("bob", password: Self.password)
        try await withWindow { window in
            await wait { window.people.map(\.name) == ["Alice Adams", "bob"] }
            #expect(window.current == nil && window.session == nil && window.message == nil)
            let session = try #require(await window.login(alice, with: password()))
            #expect(window.session === session && window.current?.name == "Alice Adams")
            await test.auth.lock()
            await wait { window.current == nil }
        }
    }

    @Test func `when nothing follows, then a login shows the session`() async throws {
        let alice = try await test.addAccount("alice", password: Self.password)
        let window = ObservedVault(Vault(auth: test.auth, storage: test.storage))
        let session = try #require(await window.login(alice, with: password()))
        #expect(window.session === session && window.people.isEmpty && window.current == nil)
        await window.reload()
        #expect(window.current?.id == alice)
    }

    @Test func `when another part logs in, then the window follows`() async throws {
        let alice = try await test.addAccount("alice", password: Self.password)
        try await withWindow { window in
            try await test.auth.login(alice, with: password())
            await wait { window.current?.id == alice }
            let token = try await test.auth.signIn(test.provider.signIn("bob"))
            try await test.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: "seven otters juggle"))
            await wait { window.current?.name == "bob" }
        }
    }

    @Test func `when a secret is wrong, then the earlier person stays`() async throws {
        let alice = try await test.addAccount("alice", password: Self.password)
        let bob = try await test.addAccount("bob", password: Self.password)
        try await withWindow { window in
            await window.login(alice, with: try password())
            await wait { window.current?.id == alice }
            #expect(await window.login(bob, with: try password("not this one")) == nil)
            #expect(window.error?.code == .wrongSecret && window.guessesRemaining == 2)
            #expect(window.message == window.error?.description && window.current?.id == alice)
            window.dismissMessage()
            #expect(window.message == nil && window.guessesRemaining == nil)
        }
    }

    @Test func `when only the provider fails, then the login opens`() async throws {
        let alice = try await test.addAccount("alice", password: Self.password)
        try await withWindow { window in
            test.provider.answer(with: .outage)
            let session = try #require(await window.login(alice, with: password()))
            #expect(window.session === session && window.error?.isOutage == true)
            await wait { window.isOffline }
            test.provider.answer(with: .tokens)
            _ = try await session.accessToken()
            await wait { !window.isOffline && window.error == nil }
        }
    }

    @Test func `when the key service is away, then the password helps`() async throws {
        let alice = try await test.addAccount("alice", password: Self.password, pin: "8264")
        let bob = try await test.addAccount("bob", password: Self.password, pin: "8264")
        try await test.auth.login(alice, with: password()).addOffline(password: SecretBytes(utf8: Self.password))
        await test.auth.lock()
        try await withWindow { window in
            await wait { window.people.map(\.opensOffline) == [true, false] }
            test.keyService.isReachable = false
            let pin = SharedSecret(try SecretBytes(utf8: "8264"))
            #expect(await window.login(bob, with: .pin(pin)) == nil)
            #expect(window.error?.code == .keyServiceUnavailable && !window.passwordOpensOffline)
            #expect(await window.login(alice, with: .pin(pin)) == nil)
            #expect(window.passwordOpensOffline)
            test.provider.answer(with: .outage)
            await window.login(alice, with: try password())
            #expect(window.current?.id == alice && window.isOffline && !window.passwordOpensOffline)
        }
    }

    @Test func `when the provider refuses, then the window says so`() async throws {
        let alice = try await test.addAccount("alice", password: Self.password)
        try await withWindow { window in
            let session = try #require(await window.login(alice, with: password()))
            test.provider.answer(with: .refusal)
            await #expect(throws: VaultError.self) { try await session.accessToken(forceRefresh: true) }
            await wait { window.error?.isRefreshTokenExpired == true }
        }
    }

    @Test func `when an app's own call fails, then its text shows`() async throws {
        try await withWindow { window in
            window.show(HTTPError(.notConnected, authority: "api.example.com"))
            #expect(window.error == nil && window.message?.contains("api.example.com") == true)
            let error = try #require(window.otherError as? HTTPError)
            #expect(error.code == .notConnected && error.authority == "api.example.com")
            window.show(VaultError(.itemNotFound, "There is no note."))
            #expect(window.error?.code == .itemNotFound && window.message == "There is no note.")
            #expect(window.otherError == nil)
            struct NoPaper: Error {}
            window.show(NoPaper())
            #expect(window.error == nil && window.otherError is NoPaper)
            window.dismissMessage()
            #expect(window.otherError == nil && window.message == nil)
        }
    }

    @Test func `when somebody guesses elsewhere, then the window tells`() async throws {
        let test = TestVault(hasProtocol2: true)
        let alice = try await test.addAccount("alice", password: Self.password)
        let account = try await test.storage.account(alice)
        let key = try #require(account.passwordKeyslot).keyID
        let blinding = try OPRF.blind(SecretBytes(utf8: "a guess"))
        _ = try await #require(test.oprfKeyService).evaluate(
            key, blinding.element,
            requestKey: OPRFDerivation.requestKey(from: SecretBytes(copying: account.deviceSecret), id: key),
            at: test.clock.now)
        test.clock.advance(by: 3600)
        let window = ObservedVault(Vault(auth: test.auth, storage: test.storage))
        let following = Task { await window.follow() }
        defer { following.cancel() }
        try await test.auth.login(alice, with: password())
        await wait { window.notice?.code == .wrongGuesses && window.message == window.notice?.description }
    }
}
