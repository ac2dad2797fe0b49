import Foundation
import NIOHTTP1
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct RegistrationTests {
    @Test func `when a public client registers, then it can sign in`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let registered = try await register(
                client,
                """
                {"client_name":"Notes","redirect_uris":["http://127.0.0.1/callback","notes://done"],
                 "grant_types":["authorization_code","refresh_token"],"token_endpoint_auth_method":"none","x":1}
                """)
            #expect(registered.status == 201)
            #expect(registered["client_secret"] == nil)
            #expect(registered["client_name"] == "Notes")
            #expect(registered["token_endpoint_auth_method"] == "none")
            #expect(registered.json["grant_types"] as? [String] == ["authorization_code", "refresh_token"])
            #expect(registered.json["client_id_issued_at"] as? Int != nil)
            let identifier = try #require(registered["client_id"])

            let page = try await client.get(client.authorizationURL(["client_id": identifier]))
            #expect(page.body.contains("Notes"))
            for uri in [ProviderClient.redirectURI, "notes://done"] {
                let code = try await client.code(["client_id": identifier, "redirect_uri": uri])
                let tokens = try await client.redeem(code: code, ["client_id": identifier, "redirect_uri": uri])
                #expect(tokens.status == 200)
                // The client has its own tokens.
                #expect(try await client.refresh(tokens["refresh_token"])["error"] == "invalid_grant")
                let renewed = try await client.refresh(tokens["refresh_token"], ["client_id": identifier])
                #expect(renewed.status == 200)
            }
            let stranger = try await client.get(
                client.authorizationURL(["client_id": identifier, "redirect_uri": "http://127.0.0.1:1/other"]))
            #expect(stranger.status == 400)
            #expect(stranger.headers["location"] == nil)
            let log = await provider.requests.filter { $0.endpoint == .registration }
            #expect(log.map(\.outcome) == [.ok])
            #expect(log.first?.clientID == identifier)
        }
    }

    @Test func `when a secret is required, then redemption without one fails`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        options.insistsOnClientSecret = true
        options.registeredSecretLifetime = 3600
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let registered = try await register(
                client, #"{"redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none"}"#)
            #expect(registered["token_endpoint_auth_method"] == "client_secret_basic")
            let identifier = try #require(registered["client_id"])
            let secret = try #require(registered["client_secret"])
            let expiry = try #require(registered.json["client_secret_expires_at"] as? Int)
            #expect(expiry == Int(clock.now.timeIntervalSince1970) + 3600)
            let header = ["Authorization": basic(identifier, secret)]
            let code = try await client.code(["client_id": identifier])
            let refused = try await client.redeem(code: code, ["client_id": identifier])
            #expect(refused["error"] == "invalid_client")
            let fields = [
                "grant_type": "authorization_code", "code": code, "redirect_uri": ProviderClient.redirectURI,
                "code_verifier": ProviderClient.verifier,
            ]
            #expect(try await client.post("/token", fields, headers: header).status == 200)
            clock.advance(by: 3601)
            #expect(try await client.post("/token", fields, headers: header)["error"] == "invalid_client")
        }
    }

    @Test func `when a client removes its registration, then authorization fails`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let registered = try await register(
                client, #"{"redirect_uris":["http://[::1]/callback"],"token_endpoint_auth_method":"none"}"#)
            let address = try #require(registered["registration_client_uri"])
            let token = try #require(registered["registration_access_token"])
            #expect(try await client.get(address).status == 401)
            #expect(try await client.get(address, bearer: "x").status == 401)
            let seen = try await client.get(address, bearer: token)
            #expect(seen["client_id"] == registered["client_id"])
            #expect(try await client.get(address, bearer: token, method: .DELETE).status == 204)
            #expect(try await client.get(address, bearer: token).status == 401)
            let identifier = try #require(registered["client_id"])
            #expect(try await client.get(client.authorizationURL(["client_id": identifier])).status == 400)
        }
    }

    @Test(arguments: [
        (#"{"redirect_uris":["http://evil.example/callback"]}"#, "invalid_redirect_uri"),
        (#"{"redirect_uris":["http://127.0.0.1.evil.example/callback"]}"#, "invalid_redirect_uri"),
        (#"{"redirect_uris":["javascript:alert(1)"]}"#, "invalid_redirect_uri"),
        (#"{"redirect_uris":["app://done#x"]}"#, "invalid_redirect_uri"), ("{}", "invalid_redirect_uri"),
        (#"{"redirect_uris":"app://done"}"#, "invalid_client_metadata"), ("[", "invalid_client_metadata"),
        (#"{"redirect_uris":["app://done"],"grant_types":["implicit"]}"#, "invalid_client_metadata"),
        (#"{"redirect_uris":["app://done"],"response_types":["token"]}"#, "invalid_client_metadata"),
        (
            #"{"redirect_uris":["app://done"],"token_endpoint_auth_method":"private_key_jwt"}"#,
            "invalid_client_metadata"
        ),
    ])
    func `when a registration is invalid, then its error is specific`(body: String, error: String) async throws {
        try await withDevelopmentIdentityProvider { provider in
            let answer = try await register(ProviderClient(provider), body)
            #expect(answer.status == 400)
            #expect(answer["error"] == error)
            #expect(await provider.requests.map(\.outcome.rawValue) == [error])
        }
    }

    @Test func `when a grant is not registered, then using it fails`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let registered = try await register(
                client, #"{"redirect_uris":["http://localhost/x"],"token_endpoint_auth_method":"none"}"#)
            let identifier = try #require(registered["client_id"])
            let changes = ["client_id": identifier, "redirect_uri": "http://localhost:7/x"]
            let tokens = try await client.redeem(
                code: client.code(changes.mapValues { Optional($0) }), changes)
            #expect(tokens.status == 200)
            #expect(tokens["refresh_token"] == nil)
            #expect(try await client.refresh("x", changes)["error"] == "unauthorized_client")
            #expect(try await client.post("/device_authorization", changes)["error"] == "unauthorized_client")
        }
    }

    @Test func `when the provider restarts, then registered clients stay known`() async throws {
        try await withTemporaryFolder { folder in
            var options = DevelopmentIdentityProvider.Options()
            options.stateFile = "\(folder)/provider.json"
            let identifier = try await withDevelopmentIdentityProvider(options) { provider in
                try await register(
                    ProviderClient(provider), #"{"redirect_uris":["app://done"],"token_endpoint_auth_method":"none"}"#
                )["client_id"]
            }
            options.offersRegistration = false
            try await withDevelopmentIdentityProvider(options) { provider in
                let client = ProviderClient(provider)
                let url = client.authorizationURL(["client_id": identifier, "redirect_uri": "app://done"])
                #expect(try await client.get(url).status == 200)
                #expect(try await register(client, "{}").status == 404)
                let metadata = try await client.get("\(provider.issuer)/.well-known/oauth-authorization-server")
                #expect(metadata["registration_endpoint"] == nil)
            }
        }
    }

    private func register(_ client: ProviderClient, _ body: String) async throws -> ProviderClient.Answer {
        try await client.post("/register", raw: body, type: "application/json")
    }
}

/// The header of HTTP Basic authentication (RFC 6749 section 2.3.1).
func basic(_ identifier: String, _ secret: String) -> String {
    let parts = [identifier, secret].map { encoded(["": $0]).dropFirst() }
    return "Basic \(Data(parts.joined(separator: ":").utf8).base64EncodedString())"
}
