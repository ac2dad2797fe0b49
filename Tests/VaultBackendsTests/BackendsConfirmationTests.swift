import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultDevelopment
import VaultTesting

/// The changes to an account after the backend was asked about its token.
@Suite struct BackendsConfirmationTests {
    private let way = BackendSignIn(using: BackendsFixture.alice)

    @Test func `when the backend refuses the token, then restoring says so`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            await fixture.backend.endAllSessions()
            #expect(await failure { try await fixture.login() }?.code == .refreshTokenExpired)
            #expect(try await fixture.account().refusedAt == fixture.clock.now)
            let calls = fixture.keyService.calls
            let restored = try await fixture.anotherVault().auth.restoreSession(userID: "alice")
            #expect(restored.state == .expired && restored.error?.code == .refreshTokenExpired)
            #expect(fixture.keyService.calls == calls, "no password was needed")
            try await fixture.vault.storage.storeRefreshToken(
                fixture.vault.auth.signIn(way), withExistingPassword: SecretBytes(utf8: BackendsFixture.password))
            #expect(try await fixture.account().refusedAt == nil)
            try await fixture.login()
        }
    }

    @Test(
        arguments: [
            ("", [:], false), ("<html>Log in to the proxy.</html>", [:], false), ("{}", [:], false),
            ("", [.wwwAuthenticate: #"Basic realm="proxy""#], false),
            (#"{"message":"Unauthorized"}"#, [.wwwAuthenticate: #"Key realm="gateway""#], false),
            (#"{"error":"no"}"#, [:], true),
            (#"{"message":"Unauthorized"}"#, [:], true), (#"{"error":{"message":"no"}}"#, [:], true),
            ("Unauthorized", [.wwwAuthenticate: #"Basic realm="x", Bearer realm="Bearer token""#], true),
        ] as [(String, HTTPFields, Bool)])
    func `when proxies may send a 401, then nothing is remembered`(
        body: String, fields: HTTPFields, isOfBackend: Bool
    ) async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            fixture.wire.answer("/auth/me", body, status: 401, fields: fields)
            #expect(await failure { try await fixture.login() }?.code == .refreshTokenExpired)
            let refusedAt = try await fixture.account().refusedAt
            #expect((refusedAt != nil) == isOfBackend)
            fixture.wire.answer("/auth/me", nil)
            try await fixture.login()
            #expect(try await fixture.account().refusedAt == nil)
        }
    }

    @Test func `when only a clock ends tokens, then nothing is noted`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            fixture.clock.advance(by: 900)
            #expect(await failure { try await fixture.login() }?.code == .refreshTokenExpired)
            #expect(try await fixture.account().refusedAt == nil)
            #expect(try await fixture.anotherVault().auth.restoreSession(userID: "alice").state == .locked)
        }
    }

    @Test(arguments: ["", "<html>Log in to the proxy.</html>", #"{"error":"invalid_client"}"#, #"{"error":"no"}"#])
    func `when a valid token cannot be revoked, then it stays`(body: String) async throws {
        let ways: [(String, BackendsArrangement, any SignIn)] = [
            ("/auth/logout", .init(), way),
            (
                "/api/oauth/revoke", .init(options: { $0.oauthIssuesRefreshToken = false }),
                ServerSignIn(using: BackendsFixture.alice, choosing: .oauth)
            ),
            (
                "/api/tokens/end",
                .init(
                    options: { $0.features = nil },
                    configure: { $0.backend.server.apiTokenRevocation = "/api/tokens/end" }),
                ServerSignIn(using: BackendsFixture.alice, asking: Typist())
            ),
        ]
        for (path, arrangement, way) in ways {
            try await withBackend(arrangement) { fixture in
                let session = try await fixture.register(way)
                fixture.wire.answer(path, body, status: 401)
                #expect(try await fixture.vault.auth.logoutEverywhere() != nil, "\(path)")
                #expect(try await fixture.store.item(.refreshToken, of: session.id) != nil, "\(path)")
                // The backend itself says that the token has ended.
                let vault = try await fixture.anotherVault()
                try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: BackendsFixture.password))
                await fixture.backend.endAllSessions()
                #expect(try await vault.auth.logoutEverywhere() == nil, "\(path)")
            }
        }
    }

    @Test func `when the backend renames the person, then the account follows`() async throws {
        try await withBackend { fixture in
            let id = try await fixture.register(way).id.subject
            fixture.wire.answer(
                "/auth/me",
                #"{"id":"\#(id)","username":"alice","email":"renamed@example.com","fullName":"Alice Renamed"}"#)
            let vault = try await fixture.login()
            let session = try #require(vault.auth.session)
            #expect(try await fixture.account().email == "renamed@example.com")
            #expect(try await session.identity().name == "Alice Renamed")
            // An answer without an address does not remove the address.
            fixture.wire.answer("/auth/me", #"{"id":"\#(id)","username":"alice","email":null}"#)
            try await fixture.login()
            #expect(try await fixture.account().email == "renamed@example.com")
            // Another person's answer changes nothing.
            fixture.wire.answer("/auth/me", #"{"id":"b","username":"bob","email":"bob@example.com"}"#)
            #expect(await failure { try await fixture.login() }?.code == .tokenInvalid)
            #expect(try await fixture.account().email == "renamed@example.com")
        }
    }

    @Test func `when a profile has another address, then the account follows`() async throws {
        try await withBackend(.init(options: { $0.features = nil })) { fixture in
            let id = try await fixture.register(ServerSignIn(using: BackendsFixture.alice, asking: Typist())).id.subject
            fixture.wire.answer(
                "/api/profile", #"{"user":{"id":"\#(id)","username":"alice","email":"renamed@example.com"}}"#)
            try await fixture.login()
            #expect(try await fixture.account().email == "renamed@example.com")
        }
    }
}
