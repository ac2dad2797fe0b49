import CredentialVault
import Foundation
import Testing
import VaultDevelopment

/// A backend's layout belongs to the account that was registered with the layout.
@Suite struct BackendsAccountLayoutTests {
    private static let other: @Sendable (inout VaultConfiguration) -> Void = {
        $0.backend.password.refresh = "/v2/renew"
        $0.backend.password.refreshToken = "rt"
        $0.backend.password.tokens.accessToken = "data.at"
        $0.backend.password.tokens.refreshToken = "data.rt"
    }
    private static let usual: @Sendable (inout VaultConfiguration) -> Void = { $0.backend = BackendLayout() }

    /// Runs `body` with an account at a backend with unusual paths and fields.
    private func withAccount(_ body: (BackendsFixture) async throws -> Void) async throws {
        try await withBackend(.init(configure: Self.other)) { fixture in
            fixture.wire.answer("/auth/login", #"{"data": {"at": "at-0", "rt": "rt-0"}, "expires_in": 900}"#)
            fixture.wire.answer("/auth/me", #"{"user": {"id": "1", "username": "alice"}}"#)
            fixture.wire.answer("/v2/renew", #"{"data": {"at": "at-1", "rt": "rt-1"}, "expires_in": 900}"#)
            // A request to these paths loses the token: the token is used up, and the answer is not understood.
            fixture.wire.answer("/auth/refresh", #"{"data": {"at": "at-1", "rt": "rt-1"}, "expires_in": 900}"#)
            try await fixture.register(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
            try await body(fixture)
        }
    }

    private func open(_ vault: Vault) async throws -> Session {
        try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: BackendsFixture.password))
    }

    /// Makes the account look older than stored layouts, or damages its layout.
    private func set(_ layout: StoredLayout?, _ fixture: BackendsFixture) async throws {
        var account = try await fixture.account()
        account.layout = layout
        try await fixture.store.apply([.putAccount(account)], to: account.id)
    }

    @Test func `when no backend file exists, then the account's layout applies`() async throws {
        try await withAccount { fixture in
            let vault = try await fixture.anotherVault(configure: Self.usual)
            let token = try await open(vault).accessToken(forceRefresh: true)
            #expect(token.value == "at-1")
            #expect(fixture.wire.messages(to: "/v2/renew").map(\.json) == [["rt": "rt-0"]])
            #expect(fixture.wire.messages(to: "/auth/refresh").isEmpty)
            #expect(try await fixture.credential().value == "rt-1")
        }
    }

    @Test func `when backend files are unreadable, then the account's layout applies`() async throws {
        try await withAccount { fixture in
            let vault = try await fixture.anotherVault {
                $0.backendProblem = VaultError(.configurationInvalid, "The backend file cannot be read.")
                $0.backend.password.refresh = "/elsewhere"
            }
            _ = try await open(vault).accessToken(forceRefresh: true)
            #expect(fixture.wire.messages(to: "/v2/renew").count == 1)
            // Signing in needs the backend file.
            let way = try PasswordSignIn(email: "a@example.com", password: SecretBytes(utf8: "alice-password"))
            let count = fixture.wire.messages.count
            #expect(await failure { try await vault.auth.signIn(way) }?.code == .configurationInvalid)
            #expect(fixture.wire.messages.count == count)
        }
    }

    @Test func `when a token is revoked, then the account's layout applies`() async throws {
        try await withAccount { fixture in
            fixture.wire.answer("/auth/logout", "{}")
            let vault = try await fixture.anotherVault(configure: Self.usual)
            _ = try await open(vault)
            #expect(try await vault.auth.logoutEverywhere() == nil)
            #expect(fixture.wire.messages(to: "/auth/logout").map(\.json) == [["rt": "rt-0"]])
        }
    }

    @Test func `when an account lacks a layout, then refreshing stores one`() async throws {
        try await withAccount { fixture in
            try await set(nil, fixture)
            let vault = try await fixture.anotherVault()
            _ = try await open(vault).accessToken(forceRefresh: true)
            #expect(try await fixture.account().layout != nil)
            let session = try #require(vault.auth.session)
            fixture.wire.answer("/v2/renew", #"{"data": {"at": "at-2", "rt": "rt-2"}, "expires_in": 900}"#)
            #expect(try await session.accessToken(forceRefresh: true).value == "at-2")
            let other = try await fixture.anotherVault(configure: Self.usual)
            _ = try await open(other).accessToken(forceRefresh: true)
            #expect(fixture.wire.messages(to: "/v2/renew").count == 3)
            #expect(fixture.wire.messages(to: "/auth/refresh").isEmpty)
        }
    }

    @Test func `when a layout cannot be read, then nothing is sent`() async throws {
        try await withAccount { fixture in
            let problem = VaultError(.configurationInvalid, "The backend file cannot be read.")
            let cases: [(StoredLayout?, VaultError.Code)] = [
                (nil, .configurationInvalid), (.damaged, .storeCorrupt), (.json(Array("{".utf8)), .storeCorrupt),
                (.json(Array(#"{"password": {"refresh": 5}}"#.utf8)), .storeCorrupt), (.json([]), .storeCorrupt),
                (.json(Array(#"{"password": {"refrseh": "/x"}}"#.utf8)), .storeCorrupt),
                (.json(Array(String(repeating: "[", count: 100_000).utf8)), .storeCorrupt),
            ]
            for (layout, code) in cases {
                try await set(layout, fixture)
                let vault = try await fixture.anotherVault { $0.backendProblem = problem }
                let session = try await open(vault)
                let count = fixture.wire.messages.count
                let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
                #expect(error?.code == code)
                #expect(await failure { _ = try await vault.auth.userInfo() }?.code == code)
                #expect(try await vault.auth.logoutEverywhere()?.code == code)
                #expect(fixture.wire.messages.count == count)
                // No refresh began, so no later refresh can find that it was cut off.
                #expect(try await fixture.account().refreshStartedAt == nil)
                #expect(try await vault.storage.all().count == 1)
            }
            let vault = try await fixture.anotherVault()
            _ = try await open(vault)
            #expect(try await vault.auth.deleteAccount()?.code == .storeCorrupt)
            #expect(try await vault.storage.all().isEmpty)
        }
    }

    @Test func `when sign-in happens again, then the new layout is stored`() async throws {
        try await withAccount { fixture in
            try await set(.damaged, fixture)
            let vault = try await fixture.anotherVault(configure: Self.usual)
            fixture.wire.answer("/auth/login", #"{"access_token": "a", "refresh_token": "r", "expires_in": 900}"#)
            fixture.wire.answer("/auth/refresh", #"{"access_token": "b", "refresh_token": "s", "expires_in": 900}"#)
            let token = try await vault.auth.signIn(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
            let session = try await vault.storage.storeRefreshToken(
                token, withExistingPassword: SecretBytes(utf8: BackendsFixture.password))
            #expect(try await session.accessToken(forceRefresh: true).value == "b")
            // A session that was opened with the old layout does not send the new token.
            _ = try await open(fixture.anotherVault()).accessToken(forceRefresh: true)
            #expect(fixture.wire.messages(to: "/auth/refresh").count == 2)
            #expect(fixture.wire.messages(to: "/v2/renew").isEmpty)
        }
    }

    @Test func `when the stored layout changes, then the open session fails`() async throws {
        try await withAccount { fixture in
            let session = try await open(fixture.anotherVault())
            try await set(.json(Array(#"{"password": {"refresh": "/v3/renew"}}"#.utf8)), fixture)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .notLoggedIn)
            #expect(fixture.wire.messages(to: "/v2/renew").isEmpty)
        }
    }

    @Test(arguments: [
        "@evil.example/x", "//evil.example/x", "/../../x", "\\evil.example", "https://evil.example/", ".evil.example/",
        ":1/x", "?x", "#x", "/x\r\nHost: evil.example", "/\u{0}", "/é", String(repeating: "/x", count: 50_000),
    ])
    func `when paths are hostile, then only the backend is called`(path: String) async throws {
        try await withAccount { fixture in
            var layout = BackendLayout()
            layout.password.refresh = path
            let json = try JSONEncoder().encode(["password": layout.password])
            try await set(.json(Array(json)), fixture)
            let session = try await open(fixture.anotherVault())
            _ = await failure { _ = try await session.accessToken(forceRefresh: true) }
            let home = try #require(URLComponents(string: fixture.backend.url))
            let authority = "\(home.host ?? ""):\(home.port ?? 0)"
            #expect(fixture.wire.messages.allSatisfy { $0.authority == authority })
        }
    }
}
