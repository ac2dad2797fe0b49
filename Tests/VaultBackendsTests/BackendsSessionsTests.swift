import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The list of a person's sessions at a backend, and the report of a logout to the backend.
@Suite struct BackendsSessionsTests {
    private static let layout: @Sendable (inout VaultConfiguration) -> Void = {
        $0.backend.password.sessions = .init()
        $0.backend.password.localLogout = "/auth/local-logout"
        $0.backend.browser.localLogout = "/auth/local-logout"
        $0.backend.server.localLogout = "/auth/local-logout"
    }

    private func way() throws -> PasswordSignIn {
        try PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password"))
    }

    private func sessions(_ fixture: BackendsFixture, _ vault: Vault? = nil) async throws -> BackendSessions {
        let account = try await fixture.account()
        return try BackendSessions(
            of: account,
            transport: (vault ?? fixture.vault).auth.authorizedTransport(for: [account.id.issuer]))
    }

    // MARK: - Sessions

    @Test func `when a listed session is ended, then its token fails`() async throws {
        try await withBackend(.init(configure: Self.layout)) { fixture in
            // Another device.
            let other = try await fixture.anotherVault().auth.signIn(way())
            try await fixture.register(way())
            let all = try await sessions(fixture).list()
            #expect(all.map(\.isCurrent) == [false, true])
            #expect(
                all.allSatisfy { $0.name == "A program" && $0.createdAt == fixture.clock.now && $0.lastUsedAt == nil })
            let old = try #require(all.first)
            try await sessions(fixture).end(old.id)
            #expect(try await sessions(fixture).list().map(\.isCurrent) == [true])
            #expect(
                await failure { _ = try await fixture.vault.auth.accessToken(of: other, forceRefresh: true) } != nil)
            let again = await failure { try await sessions(fixture).end(old.id) }
            #expect(again?.code == .configurationInvalid && again?.description.contains("no such session") == true)
        }
    }

    @Test func `when a session identifier has slashes, then it is escaped`() async throws {
        try await withBackend(.init(configure: Self.layout)) { fixture in
            try await fixture.register(way())
            #expect(await failure { try await sessions(fixture).end("../../auth/logout?x#y") } != nil)
            #expect(fixture.wire.messages.last?.path == "/auth/sessions/..%2F..%2Fauth%2Flogout%3Fx%23y")
            #expect(fixture.wire.messages.last?.method == "DELETE")
        }
    }

    @Test func `when session fields are set, then the list uses them`() async throws {
        try await withBackend(
            .init(configure: {
                var fields = BackendLayout.Sessions()
                fields.items = "data.devices"
                fields.id = "number"
                fields.lastUsedAt = "seen"
                fields.isCurrent = "here"
                $0.backend.password.sessions = fields
            })
        ) { fixture in
            try await fixture.register(way())
            fixture.wire.answer(
                "/auth/sessions",
                """
                {"data":{"devices":[{"number":7,"seen":1800000000,"here":true},{"name":"nameless"},
                {"number":"b","created_at":"2027-01-15T08:00:00.250Z","seen":"soon"}]}}
                """)
            let all = try await sessions(fixture).list()
            #expect(all.map(\.id) == ["7", "b"] && all.map(\.isCurrent) == [true, false])
            #expect(all[0].lastUsedAt == Date(timeIntervalSince1970: 1_800_000_000))
            #expect(all[1].createdAt == Date(timeIntervalSince1970: 1_800_000_000.25) && all[1].lastUsedAt == nil)
            fixture.wire.answer("/auth/sessions", #"{"sessions":[]}"#)
            #expect(await failure { _ = try await sessions(fixture).list() }?.code == .identityProviderAnswerInvalid)
        }
    }

    @Test func `when the layout lacks sessions, then nothing is sent`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            let count = fixture.wire.messages.count
            #expect(await failure { _ = try await sessions(fixture) }?.code == .configurationInvalid)
            #expect(fixture.wire.messages.count == count)
        }
    }

    // MARK: - Logging out

    @Test func `when an account logs out, then the backend is notified`() async throws {
        try await withBackend(.init(configure: Self.layout)) { fixture in
            let session = try await fixture.register(way())
            let token = try await session.accessToken().value
            #expect(try await fixture.vault.auth.logout() == nil)
            #expect(!fixture.vault.auth.isLoggedIn && !session.isOpen)
            #expect(await fixture.backend.requests.last?.endpoint == .localLogout)
            #expect(fixture.wire.messages.last?.authorization == "Bearer \(token)")
            #expect(await fixture.backend.requests.last?.outcome == .ok)
            try await fixture.login()
        }
    }

    @Test func `when any method logs out, then the backend is notified`() async throws {
        for way in [
            BackendSignIn(using: BackendsFixture.alice) as any SignIn, ServerSignIn(using: BackendsFixture.alice),
            try way(),
        ] {
            try await withBackend(.init(configure: Self.layout)) { fixture in
                try await fixture.register(way)
                #expect(try await fixture.vault.auth.logout() == nil)
                #expect(await fixture.backend.requests.last?.endpoint == .localLogout)
            }
        }
    }

    @Test func `when the access token has ended, then logout sends nothing`() async throws {
        try await withBackend(.init(configure: Self.layout)) { fixture in
            let session = try await fixture.register(way())
            let count = fixture.wire.messages.count
            fixture.clock.advance(by: 3600)
            #expect(try await fixture.vault.auth.logout()?.code == .identityProviderUnavailable)
            #expect(fixture.wire.messages.count == count && !session.isOpen)
        }
    }

    @Test func `when the backend fails, then logout still succeeds`() async throws {
        try await withBackend(.init(configure: Self.layout)) { fixture in
            let session = try await fixture.register(way())
            fixture.wire.answer("/auth/local-logout", "", status: 500)
            #expect(try await fixture.vault.auth.logout()?.code == .identityProviderUnavailable)
            #expect(!fixture.vault.auth.isLoggedIn && !session.isOpen)
            #expect(try await fixture.store.item(.accessToken, of: session.id) == nil)
            let vault = try await fixture.login()
            await fixture.stopBackend()
            fixture.wire.answer("/auth/local-logout", nil)
            #expect(try await vault.auth.logout()?.code == .identityProviderUnavailable)
            #expect(!vault.auth.isLoggedIn)
        }
    }

    @Test func `when the layout lacks local logout, then nothing is sent`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            let count = fixture.wire.messages.count
            #expect(try await fixture.vault.auth.logout() == nil)
            #expect(fixture.wire.messages.count == count)
            #expect(try await fixture.vault.auth.logout() == nil)
        }
    }
}
