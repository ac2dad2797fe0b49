import CredentialVault
import Foundation
import Testing
import VaultBase
import VaultTesting

/// Sessions of an account whose vault key is replaced.
@Suite(.timeLimit(.minutes(2))) struct VaultKeyTests {
    private static let password = "tea at half past four"
    private let test = TestVault(hasProtocol2: true)
    private let alice: AccountID
    private let session: Session

    init() async throws {
        alice = try await test.addAccount("alice", password: Self.password, pin: "8264")
        session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
    }

    private var method: UnlockMethod { get throws { try .password(SecretBytes(utf8: Self.password)) } }

    /// Another program with the same store.
    private func other(_ issuer: (any IssuerKind)? = nil) -> Auth {
        program(test.store, issuer ?? test.provider)
    }

    private func program(_ store: any SecureStore, _ issuer: any IssuerKind) -> Auth {
        let accounts = Accounts(
            store: store, clock: test.clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: .standard, keyServiceURL: "https://keys.example",
            services: KeyServices(
                released: { [test] _ in test.keyService }, oprf: { [test] _ in test.oprfKeyService }))
        return Auth(
            settings: .init(
                issuer: test.provider.issuer, clientID: "app", scopes: [], redirectURI: "app://callback"),
            opener: SessionOpener(
                accounts: accounts, issuers: [issuer],
                transport: FakeTransport { request, _ in throw HTTPError(.notConnected, authority: "") }),
            listening: NoRedirects())
    }

    @Test func `when a session replaces the key, then it goes on`() async throws {
        try await session.items.set("note", to: [1])
        let old = try await session.refreshToken().value
        let replaced = try await session.replaceVaultKey(keeping: method)
        #expect(replaced.endedKeyslots.map(\.kind) == [.pin] && replaced.endedKeyslots.map(\.state) == [.ended])
        #expect(replaced.isOldTokenReplaced && replaced.tokenError == nil)
        #expect(try await session.refreshToken().value != old)
        #expect(try await session.items.get("note") == [1])
        try await session.items.set("note", to: [2])
        await test.auth.lock()
        let again = try await test.auth.login(alice, with: method)
        #expect(try await again.items.get("note") == [2])
    }

    @Test(arguments: ["write", "read", "remove", "renewal", "PIN", "identity", "token"])
    func `when another program replaces the key, then a session locks`(use: String) async throws {
        try await session.items.set("note", to: [1])
        let auth = other()
        let thief = try await auth.login(alice, with: method)
        let updates = auth.sessionUpdates(replaying: false)
        _ = try await session.replaceVaultKey(keeping: method)
        let before = test.provider.renewals
        do {
            switch use {
            case "write": try await thief.items.set("note", to: [2])
            case "read": _ = try await thief.items.get("note")
            case "remove": try await thief.items.remove("note")
            case "renewal": _ = try await thief.accessToken(forceRefresh: true)
            case "PIN": try await thief.setPIN(SecretBytes(utf8: "7391"))
            case "identity": _ = try await thief.identity()
            default: _ = try await thief.refreshToken()
            }
            Issue.record("the session went on")
        } catch {
            let error = try #require(error as? VaultError)
            #expect(error.code == .notLoggedIn && error.description.contains("vault key"))
        }
        #expect(!thief.isOpen && thief.refusal?.code == .notLoggedIn)
        var end: SessionUpdate?
        for await update in updates {
            end = update
            if update.event == .locked { break }
        }
        #expect(end?.reason == .vaultKeyReplaced)
        #expect(test.provider.renewals == before, "the provider got nothing")
        #expect(try await session.items.get("note") == [1])
    }

    @Test func `when the old token stays, then the result says so`() async throws {
        let auth = other(KeepingProvider(base: test.provider))
        let session = try await auth.unlock(alice, with: method)
        let replaced = try await session.replaceVaultKey(keeping: method)
        #expect(!replaced.isOldTokenReplaced && replaced.tokenError == nil)
    }

    @Test func `when the provider is away, then the key still changes`() async throws {
        let old = try await session.openVaultKey()
        test.provider.answer(with: .outage)
        let replaced = try await session.replaceVaultKey(keeping: method)
        #expect(!replaced.isOldTokenReplaced && replaced.tokenError?.code == .identityProviderUnavailable)
        #expect(try await !session.openVaultKey().isEqual(to: old))
    }

    @Test func `when other unlock methods are dropped, then the key changes`() async throws {
        let old = try await session.openVaultKey()
        let kept = try await session.setPassword(SecretBytes(utf8: "nine otters juggle"))
        #expect(kept == nil)
        let replaced = try await session.setPassword(SecretBytes(utf8: "seven otters juggle"), dropsOtherMethods: true)
        #expect(replaced?.isOldTokenReplaced == true && replaced?.endedKeyslots.map(\.kind) == [.pin])
        #expect(try await !session.openVaultKey().isEqual(to: old))
    }

    @Test func `when the key changes, then other machines keep their names`() async throws {
        let test = TestVault(hasProtocol2: true, listsDevices: true)
        let id = try await test.addAccount("alice", password: Self.password, pin: "8264")
        let session = try await test.auth.login(id, with: method)
        _ = try await session.devices.list()
        // A key that this store does not have counts as another machine.
        let pin = try #require(try await test.accounts.account(id).keyslot(.pin))
        try await test.store.apply([.removeKeyslot(id: pin.id)], to: id)
        let other = try #require(try await session.devices.list().first { !$0.isThisDevice })
        try await session.devices.rename(other, to: "old laptop")
        _ = try await session.replaceVaultKey(keeping: method)
        let renamed = try await session.devices.list().first { !$0.isThisDevice }
        #expect(renamed?.name == "old laptop")
    }

    @Test func `when renewals and replacements meet, then nothing is lost`() async throws {
        let folder = NSTemporaryDirectory() + "vault-key-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let owner = program(try SQLiteStore(folder: folder), test.provider)
        let storage = Storage(accounts: owner.accounts, auth: owner, issuer: nil)
        let session = try await storage.storeRefreshToken(
            owner.signIn(test.provider.signIn("bob")), withNewPassword: SecretBytes(utf8: Self.password), alias: nil,
            replacingItems: false)
        let auth = program(try SQLiteStore(folder: folder), test.provider)
        for round in 0..<10 {
            let renewing = try await auth.login(session.id, with: method)
            try await session.items.set("note", to: [UInt8(round)])
            async let renewal: Void = {
                while (try? await renewing.accessToken(forceRefresh: true)) != nil {}
            }()
            _ = try await session.replaceVaultKey(keeping: method)
            await renewal
            #expect(!renewing.isOpen && renewing.refusal?.code == .notLoggedIn)
            // The provider ends the login when it gets an old token.
            #expect(test.provider.hasLogin("bob"))
            _ = try await session.accessToken(forceRefresh: true)
            #expect(try await session.items.get("note") == [UInt8(round)])
        }
    }
}

/// A provider that issues no other refresh token.
private struct KeepingProvider: IssuerKind, TokenIssuer {
    let base: FakeProvider

    func issues(tokensOf key: IssuerKey) -> Bool { base.issues(tokensOf: key) }
    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer { self }
    func warmUp() async {}
    func revoke(_ credential: Credential, of id: AccountID) async throws {}
    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await keep(credential)
        return TokenSet(accessToken: "access", expiresAt: nil, scope: nil, refreshToken: nil)
    }
}
