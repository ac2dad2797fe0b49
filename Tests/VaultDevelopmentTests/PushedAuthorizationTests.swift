import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct PushedAuthorizationTests {
    private let alice = ScriptedBrowser(username: "alice", password: "alice-password")

    @Test func `when a request is pushed, then the login follows it`() async throws {
        try await withDevelopmentIdentityProvider(options(.offered)) { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata["pushed_authorization_request_endpoint"] == "\(provider.issuer)/par")
            #expect(metadata.json["require_pushed_authorization_requests"] as? Bool == false)
            let pushed = try await push(client)
            #expect(pushed.status == 201)
            #expect(pushed.json["expires_in"] as? Int == 60)
            // Other parameters in the URL do not count.
            let url = self.url(client, pushed) + "&state=forged&scope=openid"
            let redirect = try await alice.redirect(from: url)
            #expect(redirect.hasPrefix("\(ProviderClient.redirectURI)?"))
            #expect(queryItems(redirect)["state"] == "s-1")
            let tokens = try await client.redeem(code: queryItems(redirect)["code"] ?? "")
            #expect(tokens["scope"] == "openid profile email offline_access")

            let again = try await client.get(url)
            #expect(again.status == 400)
            #expect(again.headers["location"] == nil)
            #expect(try await client.login().status == 200)
            let log = await provider.requests
            #expect(log.filter { $0.endpoint == .pushedAuthorization }.map(\.outcome) == [.ok])
            #expect(log.filter { $0.endpoint == .authorization }.map(\.isPushed) == [true, false, false])
        }
    }

    @Test func `when pushed requests are required, then plain ones are refused`() async throws {
        try await withDevelopmentIdentityProvider(options(.required)) { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata.json["require_pushed_authorization_requests"] as? Bool == true)
            let plain = try await client.get(client.authorizationURL())
            #expect(queryItems(plain.headers["location"] ?? "")["error"] == "invalid_request")
            let redirect = try await alice.redirect(from: url(client, push(client)))
            #expect(queryItems(redirect)["code"] != nil)
        }
        try await withDevelopmentIdentityProvider(options(.refused)) { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata["pushed_authorization_request_endpoint"] != nil)
            let refused = try await push(client)
            #expect(refused.status == 400)
            #expect(refused["error"] == "unauthorized_client")
            #expect(try await client.login().status == 200)
        }
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata["pushed_authorization_request_endpoint"] == nil)
            #expect(try await push(client).status == 404)
        }
    }

    @Test func `when a pushed request is bad, then it is refused`() async throws {
        var options = options(.offered)
        let clock = ManualClock(Date())
        options.now = { clock.now }
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            for (changes, error) in [
                (["client_id": "other"], "invalid_client"),
                (["redirect_uri": "https://evil.example/"], "invalid_request"),
                (["code_challenge": nil], "invalid_request"), (["request_uri": "urn:x"], "invalid_request"),
                (["scope": "email"], "invalid_scope"),
            ] as [([String: String?], String)] {
                let answer = try await push(client, changes)
                #expect(answer["error"] == error)
                #expect(answer["request_uri"] == nil)
            }
            let pushed = try await push(client)
            let other = url(client, pushed).replacing("client_id=vault", with: "client_id=xault")
            #expect(try await client.get(other).status == 400)
            clock.advance(by: 61)
            #expect(try await client.get(url(client, pushed)).status == 400)
        }
    }

    private func options(
        _ pushed: DevelopmentIdentityProvider.PushedAuthorization
    ) -> DevelopmentIdentityProvider.Options {
        var options = DevelopmentIdentityProvider.Options()
        options.pushedAuthorization = pushed
        return options
    }

    private func push(
        _ client: ProviderClient, _ changes: [String: String?] = [:]
    ) async throws -> ProviderClient.Answer {
        try await client.post("/par", queryItems(client.authorizationURL(changes)))
    }

    private func url(_ client: ProviderClient, _ pushed: ProviderClient.Answer) -> String {
        let fields = encoded(["request_uri": pushed["request_uri"] ?? ""])
        return "\(client.issuer)/authorize?client_id=vault-cli&\(fields)"
    }
}
