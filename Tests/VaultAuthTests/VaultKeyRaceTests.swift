import CredentialVault
import Testing
import VaultBase
import VaultTesting

/// Another program replaces the vault key between two steps of a call.
@Suite(.timeLimit(.minutes(2))) struct VaultKeyRaceTests {
    private static let password = "tea at half past four"
    private static let pin = "123456"
    private let test = TestVault(hasProtocol2: true, listsDevices: true)
    private let account: Account
    private let hardware: ScriptedHardwareKey
    private let service: InMemoryOPRFKeyService

    init() async throws {
        service = try #require(test.oprfKeyService)
        hardware = try ScriptedHardwareKey(pin: Self.pin)
        let id = try await test.addAccount("alice", password: Self.password)
        let session = try await test.auth.login(id, with: .password(SecretBytes(utf8: Self.password)))
        try await session.addHardware(hardware, prompt: ScriptedPrompt(Self.pin))
        await test.auth.lock()
        account = try await test.accounts.account(id)
    }

    private func method(_ kind: Keyslot.Kind = .password) throws -> UnlockMethod {
        guard kind == .password else { return .hardware(hardware, ScriptedPrompt(Self.pin)) }
        return try .password(SecretBytes(utf8: Self.password))
    }

    private func replace(_ kind: Keyslot.Kind = .password) async throws {
        _ = try await program(test.store).replaceVaultKey(of: account, keeping: method(kind))
    }

    /// A program with this store.
    private func program(_ store: any SecureStore) -> Auth {
        var accounts = Accounts(
            store: store, clock: test.clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: .standard, keyServiceURL: "https://keys.example",
            services: KeyServices(released: { [test] _ in test.keyService }, oprf: { [service] _ in service }))
        accounts.listsDevices = true
        accounts.keyServiceAudience = .insecureAny
        accounts.services.deviceLists = { [service] _ in service }
        return Auth(
            settings: .init(
                issuer: test.provider.issuer, clientID: "app", scopes: [], redirectURI: "app://callback"),
            opener: SessionOpener(
                accounts: accounts, issuers: [test.provider],
                transport: FakeTransport { _, _ in throw HTTPError(.notConnected, authority: "") }),
            listening: NoRedirects())
    }

    /// A program whose first reading of an item comes after another program's work.
    private func program(
        beforeReading name: ItemName, _ work: @escaping @Sendable () async throws -> Void
    ) -> Auth {
        let once = Once()
        var store = WatchedStore(base: test.store, beforeApplying: { _ in })
        store.beforeReading = { if $0 == name, once.isFirst { try await work() } }
        return program(store)
    }

    @Test func `when two programs replace the key, then one says busy`() async throws {
        service.endsUnclaimedKeys = true
        let auth = program(beforeReading: .accessToken) { try await replace() }
        let error = await failure { _ = try await auth.replaceVaultKey(of: account, keeping: method()) }
        #expect(error?.code == .busy)
        try await replace()
    }

    @Test(arguments: [Keyslot.Kind.password, .pkcs11])
    func `when a replacement interrupts, then a hardware login reports busy`(kept: Keyslot.Kind) async throws {
        let auth = program(beforeReading: .idTokenClaims) { try await replace(kept) }
        #expect(await failure { try await auth.unlock(account.id, with: method(.pkcs11)) }?.code == .busy)
        #expect(try await auth.unlock(account.id, with: method(kept)).isOpen)
    }

    @Test func `when hardware is rekeyed meanwhile, then login reports busy`() async throws {
        let (prompt, once) = (ScriptedPrompt(Self.pin), Once())
        prompt.whenAsked = { _ in if once.isFirst { try? await replace(.pkcs11) } }
        let auth = program(test.store)
        #expect(await failure { try await auth.unlock(account.id, with: .hardware(hardware, prompt)) }?.code == .busy)
        #expect(try await auth.unlock(account.id, with: method(.pkcs11)).isOpen)
    }

    @Test func `when two replacements interrupt, then a login reports busy`() async throws {
        let count = Lock(0)
        var store = WatchedStore(base: test.store, beforeApplying: { _ in })
        // A login asks for a lock before each of its two tries.
        store.beforeLocking = {
            let isTry = count.withLock { count in
                count += 1
                return count <= 2
            }
            if isTry { try await replace() }
        }
        let auth = program(store)
        #expect(await failure { try await auth.unlock(account.id, with: method()) }?.code == .busy)
        #expect(try await auth.unlock(account.id, with: method()).isOpen)
    }

    @Test func `when a slow login writes, then the new key applies`() async throws {
        let once = Once()
        let key = Lock<VaultKey?>(nil)
        let store = WatchedStore(base: test.store) { changes in
            let notesTime = changes.contains { if case .putItem(.seenClock, _) = $0 { true } else { false } }
            guard notesTime, once.isFirst else { return }
            let session = try await program(test.store).replaceVaultKey(of: account, keeping: method()).session
            let vaultKey = try await session?.openVaultKey()
            key.withLock { $0 = vaultKey }
        }
        _ = try await program(store).unlock(account.id, with: method())
        let vaultKey = try #require(key.withLock { $0 })
        let stored = try #require(try await test.store.item(.seenClock, of: account.id))
        _ = try await vaultKey.open(stored, as: .seenClock, of: account.id)
    }

    /// A store whose program is killed at a change.
    private func store(killedAt isLast: @escaping @Sendable ([StoreChange]) -> Bool) -> WatchedStore {
        let death = Once()
        let requireAlive: @Sendable () throws -> Void = {
            if death.isOver { throw StoreError(.unreadable, "The program is dead.") }
        }
        var store = WatchedStore(base: test.store) { changes in
            if isLast(changes) { _ = death.isFirst }
            try requireAlive()
        }
        store.beforeRecord = { _ in try requireAlive() }
        return store
    }

    /// A login ends each key that no keyslot has.
    private func expectOnlyUsedKeys() async throws {
        test.clock.advance(by: 700)
        _ = try await program(test.store).unlock(account.id, with: method())
        #expect(service.liveKeys == Set(try await test.accounts.account(account.id).keyslots.map(\.keyID)))
        #expect(await test.accounts.retiredKeys() == [])
    }

    @Test(arguments: [false, true])
    func `when a replacement is killed, then its new key ends`(isStaged: Bool) async throws {
        let auth = program(
            store { changes in
                let stages = changes.contains { if case .stageKeyslot = $0 { true } else { false } }
                return isStaged ? changes.activatesKeyslot : stages
            })
        #expect(await failure { _ = try await auth.replaceVaultKey(of: account, keeping: method(.pkcs11)) } != nil)
        try await expectOnlyUsedKeys()
    }

    @Test func `when a login interrupts a replacement, then the token stays`() async throws {
        let once = Once()
        let store = WatchedStore(base: test.store) { changes in
            let stages = changes.contains { if case .stageKeyslot = $0 { true } else { false } }
            if stages, once.isFirst { _ = try await program(test.store).unlock(account.id, with: method()) }
        }
        _ = try await program(store).replaceVaultKey(of: account, keeping: method(.pkcs11))
        try await replace(.pkcs11)
    }

    @Test(arguments: [ItemName.idTokenClaims, .refreshToken])
    func `when a session rekeys, then its pending call reports busy`(item: ItemName) async throws {
        let holder = Lock<Session?>(nil)
        let auth = program(beforeReading: item) {
            _ = try await holder.withLock { $0 }?.replaceVaultKey(keeping: method())
        }
        let session = try await auth.unlock(account.id, with: method())
        holder.withLock { $0 = session }
        let error = await failure {
            if item == .refreshToken { _ = try await session.refreshToken() } else { _ = try await session.identity() }
        }
        #expect(error?.code == .busy && session.isOpen)
        #expect(try await session.identity().preferredUsername == "alice")
    }

    @Test func `when another replacement follows at once, then the error says so`() async throws {
        let auth = program(beforeReading: .idTokenClaims) { try await replace() }
        let old = try await program(test.store).unlock(account.id, with: method()).openVaultKey()
        let error = await failure { _ = try await auth.opener.adopt(account.id, vaultKey: old, contact: .confirmed) }
        #expect(error?.code == .notLoggedIn && error?.isOfReplacedVaultKey == true)
    }

    @Test func `when no token can claim the key, then replacement fails`() async throws {
        service.endsUnclaimedKeys = true
        try await test.auth.removeAccessToken(of: account.id)
        let error = await failure { try await replace() }
        #expect(error?.code == .notLoggedIn && error?.isOfReplacedVaultKey == false)
    }

    @Test func `when a replacement is cancelled, then the error says so`() async throws {
        let error = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { try await replace() }
        }.value
        #expect(error?.code == .cancelled)
    }
}

/// Tells the first caller from the others.
private final class Once: Sendable {
    private let state = Lock(true)
    var isOver: Bool { state.withLock { !$0 } }
    var isFirst: Bool {
        state.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
    }
}
