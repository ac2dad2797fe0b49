import CredentialVault
import Testing
import VaultTesting

/// A key service that ends keys that nobody claimed.
@Suite struct UnclaimedKeysTests {
    private static let password = "tea at half past four"

    private func fixture(listsDevices: Bool) throws -> (TestVault, InMemoryOPRFKeyService) {
        let test = TestVault(hasProtocol2: true, listsDevices: listsDevices)
        let service = try #require(test.oprfKeyService)
        service.endsUnclaimedKeys = true
        return (test, service)
    }

    private func login(_ test: TestVault, _ secret: String = password) async throws -> Session {
        try await test.auth.login(userID: "alice", with: .password(SecretBytes(utf8: secret)))
    }

    @Test func `when device listing is off, then no key is made`() async throws {
        let (test, service) = try fixture(listsDevices: false)
        #expect(await failure { try await test.storage.checkReady() }?.code == .configurationInvalid)
        #expect(
            await failure { try await test.addAccount("alice", password: Self.password) }?.code == .configurationInvalid
        )
        #expect(service.liveKeys.isEmpty)
        // An account from before stays usable, and gets no key that would end.
        service.endsUnclaimedKeys = false
        try await test.addAccount("alice", password: Self.password)
        service.endsUnclaimedKeys = true
        let session = try await login(test)
        #expect(await failure { try await session.setPIN(SecretBytes(utf8: "8264")) }?.code == .configurationInvalid)
        #expect(service.liveKeys.count == 1)
    }

    @Test func `when unlock methods are added, then their keys are claimed`() async throws {
        let (test, service) = try fixture(listsDevices: true)
        try await test.addAccount("alice", password: Self.password, pin: "8264")
        let session = try await login(test)
        try await session.addRecoveryCode { _ in }
        try await session.setPassword(SecretBytes(utf8: "coffee at half past nine"))
        // No token was renewed since then.
        service.endUnclaimedKeys()
        #expect(Set(try await test.accounts.account(session.id).keyslots.map(\.keyID)) == service.liveKeys)
        #expect(try await login(test, "coffee at half past nine").isOpen)
        #expect(try await test.auth.unlock(userID: "alice", with: .pin(SecretBytes(utf8: "8264"))).isOpen)
        let claims = service.calls.count { if case .claim = $0 { true } else { false } }
        #expect(claims == 4, "none twice")
    }

    @Test func `when the claim is refused, then the old password stays`() async throws {
        let (test, service) = try fixture(listsDevices: true)
        try await test.addAccount("alice", password: Self.password)
        let session = try await login(test)
        service.accessTokenOwner = { _ in nil }
        #expect(
            await failure { try await session.setPassword(SecretBytes(utf8: "coffee at half past nine")) }?.code
                == .configurationInvalid)
        service.endUnclaimedKeys()
        #expect(try await login(test).isOpen)
        // It can be repeated.
        service.accessTokenOwner = { [provider = test.provider] in provider.owner(ofAccessToken: $0) }
        let again = try await login(test)
        try await again.setPassword(SecretBytes(utf8: "coffee at half past nine"))
        service.endUnclaimedKeys()
        #expect(try await login(test, "coffee at half past nine").isOpen)
    }

    @Test func `when the token is old, then the session renews it`() async throws {
        let (test, service) = try fixture(listsDevices: true)
        try await test.addAccount("alice", password: Self.password)
        let session = try await login(test)
        test.clock.advance(by: 3600)
        let password = SharedSecret(try SecretBytes(utf8: Self.password))
        #expect(
            await failure {
                try await test.storage.setPIN(SecretBytes(utf8: "8264"), of: session.id, with: .password(password))
            }?.code == .notLoggedIn)
        try await session.reauthenticate(with: .password(password))
        try await session.setPIN(SecretBytes(utf8: "8264"))
        service.endUnclaimedKeys()
        #expect(try await test.auth.unlock(userID: "alice", with: .pin(SecretBytes(utf8: "8264"))).isOpen)
    }

    // MARK: - After guesses of a thief

    /// An account. An hour ago, a thief guessed with a copy of the store. The access token is too old to claim a key.
    private func guessed() async throws -> (TestVault, InMemoryOPRFKeyService, Thief, AccountID) {
        let (test, service) = try fixture(listsDevices: true)
        let id = try await test.addAccount("alice", password: Self.password, pin: "8264")
        _ = try await login(test)
        await test.accounts.finishConfirming()
        let thief = try await Thief(
            copying: test.accounts.account(id), keyService: test.keyService, oprf: service, clock: test.clock)
        #expect(try await thief.guess(.password(SecretBytes(utf8: "not the password"))))
        await test.auth.lock()
        test.clock.advance(by: 3600)
        return (test, service, thief, id)
    }

    /// Opens the account without the provider.
    private func unlock(_ test: TestVault) async throws -> Session {
        try await test.auth.unlock(userID: "alice", with: .password(SecretBytes(utf8: Self.password)))
    }

    private func passwordKey(_ test: TestVault, _ id: AccountID) async throws -> String? {
        try await test.accounts.account(id).passwordKeyslot?.keyID
    }

    @Test func `when a keyslot is renewed, then its claim comes first`() async throws {
        let (test, service, thief, id) = try await guessed()
        let old = try await passwordKey(test, id)
        let session = try await login(test)
        let notice = try #require(session.wrongGuesses)
        #expect(!notice.isRenewed && notice.description.contains("as soon as the login has an access token"))
        await test.accounts.finishConfirming()
        let new = try #require(try await passwordKey(test, id))
        #expect(new != old)
        service.endUnclaimedKeys()
        #expect(try await login(test).wrongGuesses == nil)
        let method = UnlockMethod.password(SharedSecret(try SecretBytes(utf8: Self.password)))
        #expect(await failure { _ = try await thief.accounts.open(thief.account, with: method) } != nil, "an old copy")
    }

    @Test func `when no access token comes, then the old key stays`() async throws {
        let (test, service, _, id) = try await guessed()
        let old = try await passwordKey(test, id)
        test.provider.answer(with: .outage)
        let session = try await unlock(test)
        #expect(session.wrongGuesses != nil)
        #expect(await failure { _ = try await session.accessToken() }?.code == .identityProviderUnavailable)
        await test.accounts.finishConfirming()
        service.endUnclaimedKeys()
        #expect(try await passwordKey(test, id) == old)
        test.provider.answer(with: .tokens)
        #expect(try await login(test).isOpen)
        await test.accounts.finishConfirming()
        #expect(try await passwordKey(test, id) != old, "the next login tried again")
    }

    @Test func `when the session locks, then its waiting renewal is forgotten`() async throws {
        let (test, _, _, id) = try await guessed()
        let old = try await passwordKey(test, id)
        test.provider.answer(with: .outage)
        await (try await unlock(test)).lock()
        test.provider.answer(with: .tokens)
        _ = try await test.auth.login(userID: "alice", with: .pin(SecretBytes(utf8: "8264")))
        await test.accounts.finishConfirming()
        #expect(try await passwordKey(test, id) == old)
    }
}
