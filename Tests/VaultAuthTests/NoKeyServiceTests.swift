import CredentialVault
import Foundation
import Testing
import VaultBase
import VaultTesting

/// Accounts without a key service.
@Suite(.timeLimit(.minutes(2))) struct NoKeyServiceTests {
    private static let password = "tea at half past four"
    private static let pin = "739146"
    private static let url = "https://keys.example"
    private let test = TestVault(hasProtocol2: true)

    private var method: UnlockMethod { get throws { try .password(SecretBytes(utf8: Self.password)) } }

    /// A program on the same store, which could reach the key service. By default, new accounts have none.
    private func makeProgram(
        url: String = "", isWithout: Bool = true, policy: VaultPolicy = .standard
    ) -> (auth: Auth, storage: Storage) {
        var accounts = Accounts(
            store: test.store, clock: test.clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: policy, keyServiceURL: url,
            services: KeyServices(
                released: { [test] _ in test.keyService }, oprf: { [test] _ in test.oprfKeyService },
                deviceLists: { [test] _ in test.oprfKeyService }))
        accounts.registersWithoutKeyService = isWithout
        let auth = Auth(
            settings: .init(
                issuer: test.provider.issuer, clientID: "app", scopes: [], redirectURI: "app://callback"),
            opener: SessionOpener(
                accounts: accounts, issuers: [test.provider],
                transport: FakeTransport { request, _ in throw HTTPError(.notConnected, authority: "") }),
            listening: NoRedirects())
        return (auth, Storage(accounts: auth.accounts, auth: auth, issuer: nil))
    }

    @discardableResult
    private func register(_ program: (auth: Auth, storage: Storage)) async throws -> Session {
        try await program.storage.storeRefreshToken(
            program.auth.signIn(test.provider.signIn("alice")), withNewPassword: SecretBytes(utf8: Self.password),
            alias: nil, replacingItems: false)
    }

    private var wasAsked: Bool { test.keyService.calls > 0 || test.oprfKeyService?.calls.isEmpty == false }

    /// Opens a keyslot as a thief who has the disk, and runs nothing that counts.
    private func open(_ slot: Keyslot, of account: Account, _ password: String) async throws -> VaultKey {
        let input = try await slot.stretched(
            SharedSecret(SecretBytes(utf8: password)), of: account, cost: .insecureForTests, size: 32)
        return try await LocalKeys().open(slot, of: account, input: input, spendsLastGuess: false).vaultKey
    }

    // MARK: - Opening

    @Test func `when no key service is chosen, then none is asked`() async throws {
        let program = makeProgram()
        try await program.storage.checkReady()
        let session = try await register(program)
        try await session.items.set("note", to: [1])
        try await session.setPassword(SecretBytes(utf8: "nine otters juggle"))
        await program.auth.lock()
        let again = try await program.auth.login(
            session.id, with: .password(SecretBytes(utf8: "nine otters juggle")))
        #expect(try await again.items.get("note") == [1] && !again.isOffline)
        let wrong = await failure { _ = try await program.auth.unlock(session.id, with: method) }
        #expect(wrong?.code == .wrongSecret && wrong?.guessesRemaining == nil)
        let account = try await program.storage.account(session.id)
        #expect(!account.hasKeyService && account.keyslots.map(\.kind) == [.password])
        #expect(account.keyslots.allSatisfy { !$0.needsKeyService } && !account.wasOpenedOffline)
        #expect(!wasAsked)
    }

    @Test(arguments: [("", false), (url, true)])
    func `when the settings do not agree, then registering fails`(url: String, isWithout: Bool) async throws {
        let program = makeProgram(url: url, isWithout: isWithout)
        #expect(await failure { try await program.storage.checkReady() }?.code == .configurationInvalid)
        #expect(await failure { try await register(program) }?.code == .configurationInvalid)
        #expect(try await program.storage.all().isEmpty)
    }

    @Test func `when three guesses fail, then the next must wait`() async throws {
        let program = makeProgram()
        let id = try await register(program).id
        for _ in 1...3 {
            let wrong = await failure {
                _ = try await program.auth.unlock(id, with: .password(SecretBytes(utf8: "a slip")))
            }
            #expect(wrong?.code == .wrongSecret)
        }
        #expect(await failure { _ = try await program.auth.unlock(id, with: method) }?.code == .tooManyAttempts)
        test.clock.advance(by: 1)
        _ = try await program.auth.unlock(id, with: method)
    }

    @Test func `when a year has passed, then the account opens`() async throws {
        let program = makeProgram()
        let id = try await register(program).id
        test.clock.advance(by: 365 * 86_400)
        test.provider.answer(with: .outage)
        #expect(try await program.auth.login(id, with: method).isOffline)
        #expect(try await program.storage.endOfOpeningOffline(of: id) == nil)
    }

    @Test func `when the store has an impossible time, then the account opens`() async throws {
        let program = makeProgram()
        let id = try await register(program).id
        try await test.store.apply([.noteOnline(Date(timeIntervalSince1970: -1e300))], to: id)
        _ = try await program.auth.unlock(id, with: method)
    }

    @Test func `when only a service helps, then the error names it`() async throws {
        let program = makeProgram()
        let session = try await register(program)
        let refusals = [
            await failure { try await session.setPIN(SecretBytes(utf8: Self.pin)) },
            await failure { try await session.addRecoveryCode { _ in } },
            await failure { _ = try await session.devices.list() },
            await failure { _ = try await session.replaceVaultKey(keeping: method) },
            await failure {
                _ = try await session.setPassword(
                    SecretBytes(utf8: "nine otters juggle"), dropsOtherMethods: true)
            },
        ]
        for (error, feature) in zip(
            refusals, ["A PIN", "A recovery code", "The list of devices", "A new vault key", "A new vault key"])
        {
            #expect(error?.code == .configurationInvalid && error?.detail == .noKeyService)
            #expect(error?.description.hasPrefix("\(feature) needs a key service, and ") == true)
        }
        #expect(try await program.storage.account(session.id).keyslots.map(\.kind) == [.password])
        #expect(!wasAsked)
    }

    // MARK: - Hardware

    @Test func `when hardware opens the account, then no password does`() async throws {
        let (program, token) = (makeProgram(), try ScriptedHardwareKey(pin: Self.pin))
        let prompt = ScriptedPrompt(Self.pin)
        let id = try await program.storage.storeRefreshToken(
            program.auth.signIn(test.provider.signIn("alice")), withNewHardware: token, prompt: prompt
        ).id
        let session = try await program.auth.unlock(id, with: .hardware(token, prompt))
        #expect(await failure { _ = try await program.auth.unlock(id, with: method) }?.code == .notEnrolled)
        let password = SharedSecret(try SecretBytes(utf8: Self.password))
        // Without the key service, a password is added only by the call that says what it costs.
        #expect(await failure { _ = try await session.setPassword(password.bytes) }?.code == .notEnrolled)
        try await session.addOffline(password: password.bytes)
        #expect(await failure { try await session.addOffline(password: password.bytes) }?.code == .configurationInvalid)
        _ = try await program.auth.unlock(id, with: method)
        _ = try await program.auth.unlock(id, with: .offline(password))
        // Either one may go, but not both.
        let account = try await program.storage.account(id)
        try await program.storage.removeKeyslot(#require(account.passwordKeyslot?.id), of: id)
        let last = try #require(account.keyslot(.pkcs11)?.id)
        #expect(await failure { try await program.storage.removeKeyslot(last, of: id) }?.code == .lastUnlockMethod)
        #expect(!wasAsked)
    }

    @Test func `when hardware counts no guesses, then registering fails`() async throws {
        let program = makeProgram()
        let token = try ScriptedHardwareKey(pin: Self.pin, limitsGuesses: false)
        let error = await failure {
            _ = try await program.storage.storeRefreshToken(
                program.auth.signIn(test.provider.signIn("alice")), withNewHardware: token,
                prompt: ScriptedPrompt(Self.pin))
        }
        #expect(error?.code == .configurationInvalid)
        #expect(try await program.storage.all().isEmpty)
    }

    // MARK: - Thieves

    // Row: the disk, and the password alone opens the account
    @Test func `when a thief has the disk, then guesses are unlimited`() async throws {
        let program = makeProgram()
        let session = try await register(program)
        let account = try await program.storage.account(session.id)
        let slot = try #require(account.passwordKeyslot)
        for number in 0..<50 {
            await #expect(throws: VaultError.self) { try await open(slot, of: account, "guess \(number)") }
        }
        #expect(
            try await open(slot, of: account, Self.password).isEqual(to: session.openVaultKey()))
        #expect(!wasAsked)
    }

    // Row: an old copy, from before a new password
    @Test func `when the password changes, then an old copy still opens`() async throws {
        let program = makeProgram()
        let session = try await register(program)
        let copy = try await program.storage.account(session.id)
        try await session.setPassword(SecretBytes(utf8: "nine otters juggle"))
        let stolen = try await open(#require(copy.passwordKeyslot), of: copy, Self.password)
        #expect(try await stolen.isEqual(to: session.openVaultKey()))
    }

    // Row: an old copy, from before the move to a key service
    @Test func `when the account moves, then an old key opens nothing`() async throws {
        let program = makeProgram()
        let session = try await register(program)
        try await session.items.set("note", to: [1])
        let copy = try await program.storage.account(session.id)
        let before = try #require(try await test.store.item("note", of: session.id))
        try await test.storage.moveToKeyService(session.id, with: method)
        let stolen = try await open(#require(copy.passwordKeyslot), of: copy, Self.password)
        #expect(try await stolen.open(before, as: "note", of: session.id) == [1])
        for name in try await test.store.itemNames(of: session.id) {
            let sealed = try #require(try await test.store.item(name, of: session.id))
            await #expect(throws: StoreError.self) { try await stolen.open(sealed, as: name, of: session.id) }
        }
    }

    // Row: the right to write the disk, and changes the key service there
    @Test func `when a thief changes the key service, then nothing opens`() async throws {
        let program = makeProgram()
        let id = try await register(program).id
        try await replaceKeyService(of: id, by: "https://evil.example")
        #expect(await failure { _ = try await program.auth.unlock(id, with: method) }?.code == .storeCorrupt)
        try await replaceKeyService(of: id, by: "")
        _ = try await program.auth.unlock(id, with: method)

        let bob = try await test.addAccount("bob", password: Self.password)
        let (token, prompt) = (try ScriptedHardwareKey(pin: Self.pin), ScriptedPrompt(Self.pin))
        try await test.storage.enableBiometricAccess(
            userID: "bob", password: SecretBytes(utf8: Self.password), using: token, prompt: prompt,
            opensOffline: true)
        try await replaceKeyService(of: bob, by: "")
        for other in try [method, UnlockMethod.hardware(token, prompt)] {
            #expect(await failure { _ = try await program.auth.unlock(bob, with: other) }?.code == .storeCorrupt)
        }
    }

    @Test func `when a thief removes the key service, then sessions add nothing`() async throws {
        // A keyslot that needs no key service, from another account.
        let alice = try await register(makeProgram()).id
        let others = try #require(try await test.store.account(alice)).keyslots
        let bob = try await test.addAccount("bob", password: Self.password)
        let session = try await test.auth.login(bob, with: method)
        var account = try #require(try await test.store.account(bob))
        let old = account.keyslots
        (account.keyServiceURL, account.keyslots) = ("", others)
        try await test.store.apply(
            [.putAccount(account)] + old.map { .removeKeyslot(id: $0.id) } + others.map { .putKeyslot($0) }, to: bob)
        let error = await failure { try await session.setPassword(SecretBytes(utf8: "nine otters juggle")) }
        #expect(error?.code == .storeCorrupt)
        #expect(try await test.store.account(bob)?.keyslots.map(\.id) == others.map(\.id))
    }

    private func replaceKeyService(of id: AccountID, by url: String) async throws {
        var account = try #require(try await test.store.account(id))
        account.keyServiceURL = url
        try await test.store.apply([.putAccount(account)], to: id)
    }

    // MARK: - Moving to a key service

    @Test func `when the account moves, then the same secret opens it`() async throws {
        let program = makeProgram()
        let session = try await register(program)
        try await session.addHardware(ScriptedHardwareKey(pin: Self.pin), prompt: ScriptedPrompt(Self.pin))
        try await session.items.set("note", to: [1])
        let replaced = try await test.storage.moveToKeyService(session.id, with: method)
        #expect(replaced.endedKeyslots.map(\.kind) == [.pkcs11] && replaced.isOldTokenReplaced)
        let account = try await test.storage.account(session.id)
        #expect(account.keyServiceURL == Self.url && account.keyslots.map(\.keyServiceProtocol) == [2])
        #expect(test.oprfKeyService?.liveKeys == Set(account.keyslots.map(\.keyID)))
        let again = try await test.auth.login(session.id, with: method)
        #expect(try await again.items.get("note") == [1])
        // The session before the move ends.
        #expect(await failure { try await session.items.set("note", to: [2]) }?.code == .notLoggedIn)
        #expect(await failure { try await test.storage.moveToKeyService(session.id, with: method) } != nil)
    }

    @Test func `when hardware moves the account, then its PIN stays`() async throws {
        let (program, token) = (makeProgram(), try ScriptedHardwareKey(pin: Self.pin))
        let hardware = UnlockMethod.hardware(token, ScriptedPrompt(Self.pin))
        let id = try await program.storage.storeRefreshToken(
            program.auth.signIn(test.provider.signIn("alice")), withNewHardware: token,
            prompt: ScriptedPrompt(Self.pin)
        ).id
        try await test.storage.moveToKeyService(id, with: hardware)
        #expect(try await test.storage.account(id).keyslots.map(\.needsKeyService) == [true])
        _ = try await test.auth.login(id, with: hardware)
    }

    @Test func `when the service is silent, then nothing moves`() async throws {
        let program = makeProgram()
        let id = try await register(program).id
        test.oprfKeyService?.isReachable = false
        let error = await failure { try await test.storage.moveToKeyService(id, with: method) }
        #expect(error?.code == .keyServiceUnavailable)
        let wrong = try UnlockMethod.password(SecretBytes(utf8: "a slip"))
        test.oprfKeyService?.isReachable = true
        #expect(await failure { try await test.storage.moveToKeyService(id, with: wrong) }?.code == .wrongSecret)
        #expect(try await !program.storage.account(id).hasKeyService)
        _ = try await program.auth.login(id, with: method)
    }

    // MARK: - The policy

    @Test(arguments: [
        ("require-key-service", VaultPolicy(requiresKeyService: true)),
        ("allowed-key-services", VaultPolicy(allowedKeyServices: [url])),
        ("maximum-offline-days", VaultPolicy(maximumOfflineDays: 3)),
        ("revocation-check-hours", VaultPolicy(revocationCheckHours: 4)),
        ("forbidden-unlock-methods", VaultPolicy(forbiddenUnlockMethods: [.offline])),
        ("allowed-unlock-methods", VaultPolicy(allowedUnlockMethods: [.password])),
    ])
    func `when the policy requires a service, then only moving works`(
        rule: String, policy: VaultPolicy
    ) async throws {
        let id = try await register(makeProgram()).id
        let strict = makeProgram(policy: policy)
        for error in [
            await failure { _ = try await strict.auth.unlock(id, with: method) },
            await failure { try await register(strict) },
            await failure { try await strict.storage.checkReady() },
        ] {
            #expect(error?.code == .forbiddenByPolicy && error?.detail == .noKeyService)
            #expect(error?.policyObjection?.rule.name == rule)
        }
        let moving = makeProgram(url: Self.url, isWithout: false, policy: policy)
        try await moving.storage.moveToKeyService(id, with: method)
        _ = try await moving.auth.unlock(id, with: method)
    }
}
