import CredentialVault
import Foundation
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
