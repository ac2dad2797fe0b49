import Foundation
import Testing
import VaultDevelopment

@Suite struct MetadataTests {
    private static let openID = "/.well-known/openid-configuration"
    private static let oauth = "/.well-known/oauth-authorization-server"

    @Test func `when options are default, then both metadata documents are equal`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let first = try await client.get(provider.issuer + Self.openID)
            #expect(try await client.get(provider.issuer + Self.oauth).body == first.body)
            #expect(first["device_authorization_endpoint"] == "\(provider.issuer)/device_authorization")
            #expect(first["registration_endpoint"] == "\(provider.issuer)/register")
            #expect(first["end_session_endpoint"] == "\(provider.issuer)/end_session")
            #expect(first.headers["cache-control"] == "no-store")
            #expect(await provider.requests.map(\.endpoint) == [.discovery, .oauthMetadata])
        }
    }

    @Test func `when members are OAuth-only, then the OpenID document lacks them`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.membersOnlyInOAuthMetadata = ["registration_endpoint", "scopes_supported"]
        options.metadataLifetime = 120
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let openID = try await client.get(provider.issuer + Self.openID)
            #expect(openID["registration_endpoint"] == nil)
            #expect(openID.json["scopes_supported"] == nil)
            #expect(openID["token_endpoint"] != nil)
            #expect(openID.headers["cache-control"] == "public, max-age=120")
            let oauth = try await client.get(provider.issuer + Self.oauth)
            #expect(oauth["registration_endpoint"] == "\(provider.issuer)/register")
            #expect(try await client.get("\(provider.issuer)/jwks").headers["cache-control"]?.hasSuffix("=120") == true)
        }
    }

    @Test func `when one document is offered, then the other answers 404`() async throws {
        let documents: [(DevelopmentIdentityProvider.MetadataDocument, Int, Int)] = [
            (.openID, 200, 404), (.oauth, 404, 200),
        ]
        for (document, openID, oauth) in documents {
            var options = DevelopmentIdentityProvider.Options()
            options.metadataDocuments = [document]
            try await withDevelopmentIdentityProvider(options) { provider in
                let client = ProviderClient(provider)
                let answers = [
                    try await client.get(provider.issuer + Self.openID),
                    try await client.get(provider.issuer + Self.oauth),
                ]
                #expect(answers.map(\.status) == [openID, oauth])
            }
        }
    }

    @Test func `when endpoints have faults, then each shows its own`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            await provider.setFault(.status(503, retryAfter: 7), times: 1, at: .discovery)
            await provider.setFault(.answer(type: "text/html", body: "<p>"), times: 1, at: .keys)
            await provider.setFault(.swallowAnswerAfterProcessing, times: 1, at: .userInfo)
            await provider.setFault(.error("slow_down"), times: 1)
            let unavailable = try await client.get(provider.issuer + Self.openID)
            #expect(unavailable.status == 503)
            #expect(unavailable.headers["retry-after"] == "7")
            #expect(try await client.get(provider.issuer + Self.openID).status == 200)
            #expect(try await client.get("\(provider.issuer)/jwks").body == "<p>")
            await #expect(throws: (any Error).self) { try await client.get("\(provider.issuer)/userinfo") }
            let slow = try await client.refresh("x")
            #expect(slow.status == 400)
            #expect(slow["error"] == "slow_down")
            #expect(
                await provider.requests.map(\.outcome.rawValue) == ["fault", "ok", "fault", "invalid_token", "fault"])
        }
    }

    @Test func `when logout lacks an ID token, then no redirect follows`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let hint = try #require(try await client.login()["id_token"])
            func logout(_ fields: [String: String]) async throws -> ProviderClient.Answer {
                try await client.get("\(provider.issuer)/end_session?\(encoded(fields))")
            }
            let target = "http://127.0.0.1:5/callback"
            let back = try await logout(["id_token_hint": hint, "post_logout_redirect_uri": target, "state": "a b"])
            #expect(back.status == 303)
            #expect(back.headers["location"] == "\(target)?state=a%20b")
            #expect(await provider.requests.last?.endpoint == .endSession)
            #expect(await provider.requests.last?.username == "alice")
            let alone = try await logout(["post_logout_redirect_uri": target])
            #expect(alone.status == 200)
            #expect(alone.headers["location"] == nil)
            let forged = hint.dropLast(4) + "AAAA"
            #expect(try await logout(["id_token_hint": String(forged)]).status == 400)
            let elsewhere = try await logout(
                ["id_token_hint": hint, "post_logout_redirect_uri": "https://evil.example/"])
            #expect(elsewhere.status == 400)
            #expect(try await logout(["id_token_hint": hint, "client_id": "other"]).status == 400)
            #expect(try await client.post("/end_session", ["id_token_hint": hint]).status == 200)
        }
    }
}
