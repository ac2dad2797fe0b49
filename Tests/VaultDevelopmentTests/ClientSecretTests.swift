import Foundation
import Testing
import VaultDevelopment

@Suite struct ClientSecretTests {
    private static let secret = "s&=: é+"

    @Test func `when a client has a secret, then requests need it`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(
                metadata.json["token_endpoint_auth_methods_supported"] as? [String]
                    == ["client_secret_basic", "client_secret_post"])
            let code = try await client.code()
            #expect(try await client.redeem(code: code)["error"] == "invalid_client")
            #expect(try await client.redeem(code: code, ["client_secret": "wrong"]).status == 401)
            let tokens = try await client.redeem(code: code, ["client_secret": Self.secret])
            #expect(tokens.status == 200)

            let header = ["Authorization": basic("vault-cli", Self.secret)]
            let refresh = ["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"] ?? ""]
            let wrong = try await client.post(
                "/token", refresh, headers: ["Authorization": basic("vault-cli", "wrong")])
            #expect(wrong.status == 401)
            #expect(wrong.headers["www-authenticate"]?.hasPrefix("Basic") == true)
            let twice = try await client.post(
                "/token", refresh.merging(["client_secret": Self.secret]) { $1 }, headers: header)
            #expect(twice["error"] == "invalid_request")
            let renewed = try await client.post("/token", refresh, headers: header)
            #expect(renewed.status == 200)
            let revoke = ["token": renewed["refresh_token"] ?? ""]
            #expect(try await client.post("/revoke", revoke.merging(["client_id": "vault-cli"]) { $1 }).status == 401)
            #expect(try await client.post("/revoke", revoke, headers: header).status == 200)

            let log = await provider.requests.filter { $0.endpoint == .token }
            #expect(
                log.map(\.clientAuthentication) == [
                    "none", "client_secret_post", "client_secret_post", "client_secret_basic", nil,
                    "client_secret_basic",
                ])
            #expect(!"\(log)".contains(Self.secret))
        }
    }

    @Test func `when a secret's method is unannounced, then it is refused`() async throws {
        for (methods, announced) in [([.post], ["client_secret_post"]), ([], nil)]
            as [([DevelopmentIdentityProvider.ClientSecretMethod], [String]?)]
        {
            var options = options()
            options.clientSecretMethods = methods
            try await withDevelopmentIdentityProvider(options) { provider in
                let client = ProviderClient(provider)
                let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
                #expect(metadata.json["token_endpoint_auth_methods_supported"] as? [String] == announced)
                let inHeader = try await client.post(
                    "/token", ["grant_type": "x"], headers: ["Authorization": basic("vault-cli", Self.secret)])
                let inForm = try await client.post(
                    "/token", ["grant_type": "x", "client_id": "vault-cli", "client_secret": Self.secret])
                #expect(inHeader["error"] == (methods.isEmpty ? "unsupported_grant_type" : "invalid_client"))
                #expect(inForm["error"] == (methods.isEmpty ? "invalid_client" : "unsupported_grant_type"))
            }
        }
    }

    @Test func `when public clients send a secret, then it is refused`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let answer = try await client.refresh("x", ["client_secret": "x"])
            #expect(answer["error"] == "invalid_client")
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            let methods = try #require(metadata.json["token_endpoint_auth_methods_supported"] as? [String])
            #expect(methods.contains("none"))
        }
    }

    @Test func `when the password grant is allowed, then passwords give tokens`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.allowsPasswordGrant = true
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let fields = [
                "grant_type": "password", "client_id": "vault-cli", "username": "alice", "password": "alice-password",
                "scope": "openid offline_access",
            ]
            let tokens = try await client.post("/token", fields)
            #expect(tokens.status == 200)
            #expect(tokens["id_token"] != nil)
            #expect(try await client.refresh(tokens["refresh_token"]).status == 200)
            let wrong = try await client.post("/token", fields.merging(["password": "x"]) { $1 })
            #expect(wrong["error"] == "invalid_grant")
            #expect(await provider.requests.last?.outcome == .wrongPassword)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect((metadata.json["grant_types_supported"] as? [String])?.contains("password") == true)
        }
    }

    @Test func `when options are printed, then no secret appears`() {
        var dumped = ""
        dump(options(), to: &dumped)
        dumped += "\(options()) \(String(reflecting: options()))"
        #expect(!dumped.contains(Self.secret))
        #expect(!dumped.contains("alice-password"))
    }

    private func options() -> DevelopmentIdentityProvider.Options {
        var options = DevelopmentIdentityProvider.Options()
        options.clientSecret = Self.secret
        options.offersRegistration = false
        return options
    }
}
