import CredentialVault
import Testing
import VaultAuthTestSupport
import VaultDevelopment

/// Redirects that do not answer the running login at a backend. The login goes on.
@Suite struct BackendsForgedRedirectTests {
    @Test(arguments: BesetApp.malformed)
    func `when a backend login gets malformed redirects, then it succeeds`(forged: String) async throws {
        try await withBackend(
            .init(
                options: { $0.redirectURIs = [BesetApp.redirectURI] },
                configure: { $0.redirectURI = BesetApp.redirectURI })
        ) { fixture in
            let auth = fixture.vault.auth
            let browser = BesetApp(auth: auth, person: BackendsFixture.alice) { _ in forged }
            let token = try await auth.signIn(BackendSignIn(using: browser))
            #expect(token.identity.preferredUsername == "alice")
            #expect(await fixture.asked.filter { $0 == .token }.count == 1)
        }
    }
}
