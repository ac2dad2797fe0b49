import CredentialVault
import Foundation
import Testing
import VaultTesting

/// The promises of the fakes to an app's tests, and the API by account.
@Suite struct TestVaultTests {
    private static let password = "tea at half past four"

    @Test func `when an account is added, then password and PIN open`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", name: "Alice", password: Self.password, pin: "8264")
        #expect(!test.auth.isLoggedIn)
        try await test.auth.login(alice, with: .pin(SecretBytes(utf8: "8264")))
        #expect(try await test.auth.session?.identity().name == "Alice")
        try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        #expect(test.provider.renewals == 2)
    }

    @Test func `when protocol 2 is used, then a thief's guess shows`() async throws {
        let test = TestVault(hasProtocol2: true)
        let service = try #require(test.oprfKeyService)
        let alice = try await test.addAccount("alice", password: Self.password, pin: "8264")
        #expect(service.liveKeys.count == 2 && test.keyService.calls == 0)
        #expect(try await test.storage.keyslotSummaries(of: alice).map(\.keyServiceProtocol) == [2, 2])
        let updates = test.auth.sessionUpdates
        // A thief with a copy of the store needs only the device secret for a guess.
        let account = try await test.storage.account(alice)
        let key = try #require(account.keyslot(.pin)).keyID
        let blinding = try OPRF.blind(SecretBytes(utf8: "a guess"))
        _ = try await service.evaluate(
            key, blinding.element,
            requestKey: OPRFDerivation.requestKey(from: SecretBytes(copying: account.deviceSecret), id: key),
            at: test.clock.now)
        test.clock.advance(by: 3600)
        let session = try await test.auth.login(alice, with: .pin(SecretBytes(utf8: "8264")))
        let notice = try #require(session.wrongGuesses)
        #expect(notice.count == 1 && notice.mayBeRight && notice.isRenewed && notice.keyslot == .pin)
        #expect(await updates.first { $0.event == .wrongGuesses }?.notice == notice)
        #expect(try await test.auth.deleteAccount() == nil)
        #expect(service.liveKeys == [])
    }

    @Test func `when a policy is given, then the vault obeys it`() async throws {
        let test = TestVault(policy: VaultPolicy(allowedUnlockMethods: [.password]))
        let alice = try await test.addAccount("alice", password: Self.password)
        let session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        let error = await #expect(throws: VaultError.self) { try await session.setPIN(SecretBytes(utf8: "826419")) }
        #expect(error?.code == .forbiddenByPolicy)
    }

    @Test func `when claims are displayed, then the list has them`() async throws {
        let test = TestVault(displayClaims: ["department"])
        let token = try await test.auth.signIn(
            test.provider.signIn("alice", claims: ["department": "Ward 4", "phone": "5550100"]))
        try await test.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: Self.password))
        #expect(try await test.storage.all().map(\.displayClaims) == [["department": "Ward 4"]])
    }

    @Test func `when an agent holds an account, then attaching opens`() async throws {
        struct Held: SessionBackend {
            let id: AccountID

            func accessToken(
                isForced: Bool, minimumValidity: Duration, rejected: String?, requestedAt: Date
            ) async throws -> (token: AccessToken, isNew: Bool) {
                let token = AccessToken(
                    value: "of the agent", tokenType: "Bearer", expiresAt: nil, scope: nil, obtainedAt: requestedAt)
                return (token, true)
            }
        }
        let test = TestVault(agent: { id in
            guard id.subject == "alice" else { throw VaultError(.notLoggedIn, "The agent does not hold it.") }
            return Held(id: id)
        })
        let alice = try await test.addAccount("alice", password: Self.password)
        let bob = try await test.addAccount("bob", password: Self.password)
        #expect(try await test.auth.attach(alice).accessToken().value == "of the agent")
        let error = await #expect(throws: VaultError.self) { try await test.auth.attach(bob) }
        #expect(error?.code == .notLoggedIn)
    }

    @Test func `when a refresh token repeats, then the login ends`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let old = try await test.storage.storedRefreshToken(
            of: alice, with: .password(SecretBytes(utf8: Self.password)))
        try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        await #expect(throws: OpenIDConnectError.self) {
            _ = try await test.provider.renew(old.credential, of: alice) { _ in }
        }
        #expect(!test.provider.hasLogin("alice"))
    }

    @Test func `when unlock methods are listed, then their states are shown`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password, pin: "8264")
        for _ in 0..<3 {
            let error = await #expect(throws: VaultError.self) {
                try await test.auth.unlock(alice, with: .pin(SecretBytes(utf8: "1111")))
            }
            #expect(error?.unlockMethod == .pin && error?.isWrongSecret == true)
        }
        let error = await #expect(throws: VaultError.self) {
            try await test.auth.unlock(alice, with: .pin(SecretBytes(utf8: "8264")))
        }
        #expect(error?.isKeyLocked == true && error?.isKeyServiceError == true && error?.unlockMethod == .pin)
        let ways = try await test.storage.keyslotSummaries(of: alice)
        #expect(ways.map(\.kind) == [.password, .pin])
        #expect(ways.map(\.state) == [.usable, .locked])
        #expect(ways.map(\.wrongGuesses) == [0, 3])
        #expect(ways[0].lastUsedAt != nil && ways[1].lastUsedAt == nil)
    }

    @Test func `when an offline keyslot is listed, then its name differs`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let account = try await test.storage.account(alice)
        let key = try await test.accounts.open(account, with: .password(SecretBytes(utf8: Self.password)))
        try await test.accounts.addOffline(
            password: SharedSecret(SecretBytes(utf8: Self.password)), to: account, vaultKey: key)
        let ways = try await test.storage.keyslotSummaries(of: alice)
        #expect(Set(ways.map(\.name)) == ["password", "password without the network"])
        #expect(ways.filter(\.opensOffline).map(\.kind) == [.offline])
    }

    @Test func `when the key service fails, then the error says outage`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        test.keyService.isReachable = false
        let error = await #expect(throws: VaultError.self) {
            try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        }
        #expect(error?.isOutage == true && error?.isKeyServiceError == true)
        #expect(error?.localizedDescription == error?.description)
    }

    @Test func `when deletion revokes nothing, then the provider's login stays`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let bob = try await test.addAccount("bob", password: Self.password)
        try await test.storage.delete(alice, revokingWith: .password(SecretBytes(utf8: Self.password)))
        try await test.storage.delete(bob, revokingWith: nil)
        #expect(!test.provider.hasLogin("alice") && test.provider.hasLogin("bob"))
        #expect(try await test.storage.all().isEmpty)
        await #expect(throws: VaultError.self) { try await test.storage.delete(bob, revokingWith: nil) }
    }

    @Test func `when the provider refuses, then items stay until the lock`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let name = ItemName(rawValue: "notes")
        let session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        try await session.items.set(name, to: [1, 2, 3])
        #expect(try await test.store.item(name, of: alice) != [1, 2, 3])
        test.provider.answer(with: .refusal)
        await #expect(throws: VaultError.self) { try await session.accessToken(forceRefresh: true) }
        #expect(try await session.items.get(name) == [1, 2, 3])
        try await session.items.remove(name)
        #expect(try await session.items.get(name) == nil)
        let reserved = await #expect(throws: VaultError.self) {
            try await session.items.set("vault/refresh-token", to: [])
        }
        #expect(reserved?.code == .configurationInvalid)
        await session.lock()
        await #expect(throws: VaultError.self) { try await session.items.get(name) }
    }

    @Test func `when the key service is slow, then registration waits`() async throws {
        let clock = ManualContinuousClock()
        let test = TestVault(keyService: { SlowKeyService($0, delay: .seconds(5), clock: clock) })
        let adding = Task { try await test.addAccount("alice", password: Self.password) }
        await clock.waitForSleeper()
        #expect(try await test.storage.all().isEmpty)
        clock.advance(by: .seconds(5))
        #expect(try await adding.value.subject == "alice")
    }

    @Test func `when the idle timeout precedes the login, then it locks`() async throws {
        let test = TestVault()
        let clock = ManualContinuousClock()
        let alice = try await test.addAccount("alice", password: Self.password)
        await test.auth.enableIdleTimeout(.seconds(60), clock: clock) {}
        await clock.waitForSleeper()
        try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        var updates = test.auth.sessionUpdates(replaying: true).makeAsyncIterator()
        #expect(await updates.next()?.event == .loggedIn)
        clock.advance(by: .seconds(60))
        while let update = await updates.next(), update.event != .locked {}
        #expect(test.auth.session == nil)
        await test.auth.disableIdleTimeout()
    }

    @Test func `when a person leaves late, then the next one stays`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let bob = try await test.addAccount("bob", password: Self.password)
        let session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        try await test.auth.login(bob, with: .password(SecretBytes(utf8: Self.password)))
        #expect(try await test.storage.hasItem(.accessToken, of: alice))
        await session.lock()
        try await test.auth.removeAccessToken(of: session.id)
        #expect(try await !test.storage.hasItem(.accessToken, of: alice))
        #expect(test.auth.session?.id == bob)
        try await test.storage.delete(session.id, revokingWith: .password(SecretBytes(utf8: Self.password)))
        #expect(try await test.storage.all().map(\.id) == [bob] && test.auth.session?.id == bob)
    }

    @Test func `when a person is idle, then the session locks`() async throws {
        let test = TestVault()
        let clock = ManualContinuousClock()
        let alice = try await test.addAccount("alice", password: Self.password)
        try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        var updates = test.auth.sessionUpdates(replaying: true).makeAsyncIterator()
        #expect(await updates.next()?.event == .loggedIn)
        await test.auth.enableIdleTimeout(.seconds(60), clock: clock) {}
        await clock.waitForSleeper()
        clock.advance(by: .seconds(59))
        #expect(test.auth.session != nil)
        clock.advance(by: .seconds(1))
        let update = await updates.next()
        #expect(update?.event == .locked && update?.reason == .idle)
        // The next login starts the count again.
        try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        #expect(await updates.next()?.event == .loggedIn)
        await clock.waitForSleeper()
        clock.advance(by: .seconds(60))
        while let update = await updates.next(), update.event != .locked {}
        #expect(test.auth.session == nil)
        await test.auth.disableIdleTimeout()
    }

    @Test func `when the vault key is old, then no item changes`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
        let name = ItemName(rawValue: "notes")
        // Another program registers the account again, and stores an item.
        let token = try await test.storage.storedRefreshToken(
            of: alice, with: .password(SecretBytes(utf8: Self.password)))
        let key = try await test.accounts.register(
            token, newPassword: SecretBytes(utf8: Self.password), alias: nil, replacingItems: true)
        try await test.store.apply([.putItem(name, await key.seal([1], as: name, of: alice))], to: alice)
        let changes: [@Sendable () async throws -> Void] = [
            { try await session.items.set(name, to: [2]) },
            { try await session.items.set(name, to: [UInt8](repeating: 2, count: 100_000)) },
            { try await session.items.remove(name) },
        ]
        for change in changes {
            let error = await #expect(throws: VaultError.self) { try await change() }
            #expect(error?.code == .notLoggedIn)
        }
        let sealed = try #require(try await test.store.item(name, of: alice))
        #expect(try await key.open(sealed, as: name, of: alice) == [1])
    }

    @Test func `when the refresh token is gone, then deletion still works`() async throws {
        let test = TestVault()
        let alice = try await test.addAccount("alice", password: Self.password)
        let method = try UnlockMethod.password(SecretBytes(utf8: Self.password))
        try await test.auth.login(alice, with: method)
        #expect(try await test.auth.logoutEverywhere() == nil)
        #expect(try await test.storage.delete(alice, revokingWith: method) == nil)
        #expect(try await test.storage.all().isEmpty)
    }

    @Test func `when deletion cannot revoke, then the outage is returned`() async throws {
        let test = TestVault()
        let method = try UnlockMethod.password(SecretBytes(utf8: Self.password))
        let alice = try await test.addAccount("alice", password: Self.password)
        let session = try await test.auth.login(alice, with: method)
        _ = try await session.accessToken(forceRefresh: true)
        #expect(try await test.storage.delete(alice, revokingWith: method) == nil)
        #expect(!test.provider.hasLogin("alice") && test.auth.session == nil)
        let bob = try await test.addAccount("bob", password: Self.password)
        test.provider.answer(with: .outage)
        #expect(try await test.storage.delete(bob, revokingWith: method)?.isOutage == true)
        #expect(try await test.storage.all().isEmpty)
    }
}
