import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultDevelopment
import VaultTesting

/// The registration's answer says where a client's secret goes, even if the metadata lists other methods (RFC 7591
/// section 3.2.1).
@Suite struct RegisteredMethodTests {
    /// A provider whose listed method for the secret differs from the method of its registrations.
    private struct MisleadingTransport: HTTPTransport {
        let base = AsyncHTTPTransport()
        let listed: String

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            var answer = try await base.send(request, body: body, limits: limits)
            guard request.path?.contains("/.well-known/") == true,
                var document = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
            else { return answer }
            document["token_endpoint_auth_methods_supported"] = [listed]
            answer.body = Array(try JSONSerialization.data(withJSONObject: document))
            return answer
        }
    }

    @Test(arguments: [
        (DevelopmentIdentityProvider.ClientSecretMethod.post, "client_secret_basic"), (.basic, "client_secret_post"),
    ])
    func `when metadata lists another method, then the registered one counts`(
        method: DevelopmentIdentityProvider.ClientSecretMethod, listed: String
    ) async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.insistsOnClientSecret = true
        options.clientSecretMethods = [method]
        let clock = ManualClock()
        options.now = { clock.now }
        try await withDevelopmentIdentityProvider(options) { provider in
            let (store, keys) = (InMemoryStore(), InMemoryKeyService())
            let configuration = VaultConfiguration(
                issuer: provider.issuer, keyServiceURL: "https://keys.example.com", argon2: .insecureForTests)
            func vault() async throws -> Vault {
                try await Vault(
                    configuration, store: store, keyService: keys, transport: MisleadingTransport(listed: listed),
                    clock: clock)
            }
            let first = try await vault()
            let token = try await first.auth.performOpenIDConnectLogin(
                using: ScriptedBrowser(username: "alice", password: "alice-password"))
            #expect(token.credential.clientSecret != nil)
            let password = try SecretBytes(utf8: "tea at half past four")
            try await first.storage.storeRefreshToken(token, withNewPassword: password)
            clock.advance(by: 86_400)
            let later = try await vault()
            try await later.auth.login(userID: "alice", password: password)
            _ = try await later.auth.accessToken()
            let requests = await provider.requests.filter { $0.grantType == "refresh_token" }
            #expect(!requests.isEmpty && requests.allSatisfy { $0.outcome == .ok })
        }
    }
}
