import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The end of refresh tokens at a backend that wants the access token, too.
@Suite struct BackendsLogoutTests {
    private func way() throws -> PasswordSignIn {
        try PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password"))
    }

    private func outcomes(_ fixture: BackendsFixture) async -> [String] {
        await fixture.backend.requests.map { "\($0.endpoint) \($0.status)" }
    }

    /// Whether the store has a refresh token of the account.
    private func isStored(_ id: AccountID, _ fixture: BackendsFixture) async throws -> Bool {
        try await fixture.store.item(.refreshToken, of: id) != nil
    }

    @Test func `when Alice logs out everywhere, then both tokens are sent`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            let bearer = try await session.accessToken().value
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            #expect(await outcomes(fixture) == ["login 200", "logout 204"])
            #expect(fixture.wire.messages.last?.authorization == "Bearer \(bearer)")
            #expect(fixture.wire.messages.last?.json.keys.sorted() == ["refreshToken"])
            #expect(try await !isStored(session.id, fixture))
        }
    }

    @Test func `when the access token has ended, then logout renews it`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            fixture.clock.advance(by: 899)
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            #expect(await outcomes(fixture) == ["login 200", "refresh 200", "logout 204"])
        }
    }

    @Test func `when the backend refuses the access token, then logout retries`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            await fixture.backend.invalidateAccessTokens()
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            #expect(await outcomes(fixture) == ["login 200", "logout 401", "refresh 200", "logout 204"])
        }
    }

    @Test func `when access tokens are always refused, then logout fails`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.wire.answer("/auth/logout", #"{"error":"unauthorized","message":"Not you."}"#, status: 401)
            let failure = try await fixture.vault.auth.logoutEverywhere()
            #expect(failure?.code == .configurationInvalid && failure?.description.contains("Not you.") == true)
            #expect(fixture.wire.messages(to: "/auth/logout").count == 2)
            // The renewed refresh token is the one that stays.
            #expect(try await isStored(session.id, fixture))
            fixture.wire.answer("/auth/logout", nil)
            #expect(try await fixture.login().auth.logoutEverywhere() == nil)
        }
    }

    @Test func `when the refresh token is unknown, then logout succeeds`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            // Another copy of the store used the token.
            let token = try await fixture.credential().value
            #expect(try await fixture.post("/auth/refresh", #"{"refreshToken":"\#(token)"}"#) == 200)
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            #expect(await outcomes(fixture).contains("logout 404"))
            #expect(try await !isStored(session.id, fixture))
        }
    }

    @Test func `when the backend has no logout, then logout everywhere fails`() async throws {
        try await withBackend(.init(configure: { $0.backend.password.logout = "/auth/nowhere" })) { fixture in
            let session = try await fixture.register(way())
            #expect(try await fixture.vault.auth.logoutEverywhere()?.code == .configurationInvalid)
            #expect(try await isStored(session.id, fixture))
        }
    }

    @Test func `when every path wants a token, then logout fails`() async throws {
        try await withBackend(.init(configure: { $0.backend.password.logout = "/auth/nowhere" })) { fixture in
            let session = try await fixture.register(way())
            fixture.wire.wantToken()
            #expect(try await fixture.vault.auth.logoutEverywhere()?.code == .configurationInvalid)
            #expect(try await isStored(session.id, fixture))
        }
    }

    @Test(arguments: ["", "<html>No such page.</html>", "{}"])
    func `when a proxy answers 404, then logout fails`(body: String) async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.wire.answer("/auth/logout", body, status: 404, times: 1)
            #expect(try await fixture.vault.auth.logoutEverywhere()?.code == .configurationInvalid)
            #expect(try await isStored(session.id, fixture))
            #expect(try await fixture.login().auth.logoutEverywhere() == nil)
        }
    }

    @Test(arguments: ["", "<html>Log in to the proxy.</html>", #"{"error":"unauthorized"}"#])
    func `when a proxy refuses the renewal, then logout fails`(body: String) async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.clock.advance(by: 899)
            fixture.wire.answer("/auth/refresh", body, status: 401, times: 1)
            #expect(try await fixture.vault.auth.logoutEverywhere()?.code == .refreshTokenExpired)
            #expect(try await isStored(session.id, fixture))
            #expect(try await fixture.login().auth.logoutEverywhere() == nil)
            #expect(await outcomes(fixture).last == "logout 204")
        }
    }

    @Test func `when a proxy refuses an unstored login, then revoking fails`() async throws {
        try await withBackend { fixture in
            let token = try await fixture.vault.auth.signIn(way())
            fixture.clock.advance(by: 900)
            fixture.wire.answer("/auth/refresh", "", status: 401)
            #expect(await fixture.vault.auth.revoke(token)?.code == .refreshTokenExpired)
        }
    }

    @Test func `when the refresh token has ended, then logout succeeds`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            await fixture.backend.endAllSessions()
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            #expect(await outcomes(fixture) == ["login 200", "logout 401", "refresh 401"])
            #expect(try await !isStored(session.id, fixture))
        }
    }

    @Test func `when the backend is down, then the token stays`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.clock.advance(by: 900)
            await fixture.stopBackend()
            #expect(try await fixture.vault.auth.logoutEverywhere()?.code == .identityProviderUnavailable)
            #expect(try await isStored(session.id, fixture))
            #expect(!fixture.vault.auth.isLoggedIn)
        }
    }

    @Test(arguments: [0.0, 900.0])
    func `when a login is not stored, then revoking ends it`(seconds: Double) async throws {
        try await withBackend { fixture in
            let token = try await fixture.vault.auth.signIn(way())
            fixture.clock.advance(by: seconds)
            #expect(await fixture.vault.auth.revoke(token) == nil)
            #expect(await outcomes(fixture).last == "logout 204")
            #expect(await outcomes(fixture).contains("refresh 200") == (seconds > 0))
        }
    }

    @Test(arguments: [0.0, 900.0])
    func `when an account is deleted, then its session ends`(seconds: Double) async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            fixture.clock.advance(by: seconds)
            #expect(try await fixture.vault.auth.deleteAccount() == nil)
            #expect(await outcomes(fixture).last == "logout 204")
        }
    }
}
