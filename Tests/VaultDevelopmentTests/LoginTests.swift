import Crypto
import Foundation
import JWTKit
import Testing
import VaultDevelopment

private struct Claims: JWTPayload {
    var iss: String
    var sub: String
    var aud: String
    var exp: Int
    var iat: Int
    var nonce: String?
    var email: String
    var preferredUsername: String
    var name: String
    var atHash: String

    private enum CodingKeys: String, CodingKey {
        case iss, sub, aud, exp, iat, nonce, email, name
        case preferredUsername = "preferred_username"
        case atHash = "at_hash"
    }

    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

@Suite struct LoginTests {
    @Test func `when discovery is requested, then the document describes the provider`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let answer = try await ProviderClient(provider).get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(answer.status == 200)
            #expect(answer["issuer"] == provider.issuer)
            #expect(answer["token_endpoint"] == "\(provider.issuer)/token")
            #expect(answer["revocation_endpoint"] == "\(provider.issuer)/revoke")
            #expect(answer["userinfo_endpoint"] == "\(provider.issuer)/userinfo")
            #expect(answer.json["authorization_response_iss_parameter_supported"] as? Bool == true)
            #expect(answer.json["code_challenge_methods_supported"] as? [String] == ["S256"])
            #expect(answer.json["id_token_signing_alg_values_supported"] as? [String] == ["ES256"])
        }
    }

    @Test func `when a login succeeds, then its tokens verify`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let redirect = try await ScriptedBrowser(username: "alice", password: "alice-password")
                .redirect(from: client.authorizationURL())
            #expect(redirect.hasPrefix("\(ProviderClient.redirectURI)?"))
            #expect(queryItems(redirect)["state"] == "s-1")
            #expect(queryItems(redirect)["iss"] == provider.issuer)

            let tokens = try await client.redeem(code: queryItems(redirect)["code"] ?? "")
            #expect(tokens.status == 200)
            #expect(tokens.headers["cache-control"] == "no-store")
            #expect(tokens["token_type"] == "Bearer")
            #expect(tokens.json["expires_in"] as? Int == 300)
            #expect(tokens["scope"] == "openid profile email offline_access")
            #expect(tokens["refresh_token"]?.isEmpty == false)

            let keys = try await JWTKeyCollection().add(
                jwksJSON: try await client.get("\(provider.issuer)/jwks").body)
            let claims = try await keys.verify(try #require(tokens["id_token"]), as: Claims.self)
            #expect(claims.iss == provider.issuer)
            #expect(claims.aud == "vault-cli")
            #expect(claims.nonce == "n-1")
            #expect(claims.email == "alice@example.com")
            #expect(claims.preferredUsername == "alice")
            #expect(claims.sub == DevelopmentIdentityProvider.User.alice.subject)
            #expect(claims.sub != DevelopmentIdentityProvider.User.bob.subject)
            #expect(UUID(uuidString: claims.sub) != nil)
            let hash = Data(SHA256.hash(data: Data((tokens["access_token"] ?? "").utf8)).prefix(16))
            #expect(
                claims.atHash
                    == hash.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                    .replacing("=", with: ""))

            let user = try await client.get("\(provider.issuer)/userinfo", bearer: tokens["access_token"])
            #expect(user["sub"] == claims.sub)
            #expect(user["email"] == "alice@example.com")
            #expect(try await client.get("\(provider.issuer)/userinfo", bearer: "nonsense").status == 401)
        }
    }

    @Test func `when the password is wrong, then the form returns`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let page = try await client.get(client.authorizationURL())
            let request = try #require(page.body.firstMatch(of: /name="request" value="([^"]+)"/)?.1)
            let wrong = try await client.post(
                "/login", ["request": String(request), "username": "alice", "password": "x", "action": "login"])
            #expect(wrong.status == 401)
            #expect(wrong.body.contains("The username or the password is wrong."))
            #expect(wrong.body.contains(#"id="password""#))
            #expect(wrong.headers["location"] == nil)
            let fields = ["request": String(request), "username": "alice", "password": "alice-password"]
            let right = try await client.post("/login", fields)
            #expect(right.status == 303)
            #expect(queryItems(right.headers["location"] ?? "")["code"]?.isEmpty == false)
            // The page can be used once.
            #expect(try await client.post("/login", fields).status == 400)
            #expect(
                await provider.requests.map(\.outcome.rawValue) == ["ok", "wrong_password", "ok", "unknown_request"])
        }
    }

    @Test func `when the password is wrong, then the browser reports it`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let error = await #expect(throws: VaultDevelopmentError.self) {
                try await ScriptedBrowser(username: "alice", password: "wrong")
                    .visit(ProviderClient(provider).authorizationURL())
            }
            #expect(error?.code == .unexpectedPage)
            #expect(error?.description.contains("The username or the password is wrong.") == true)
        }
    }

    @Test func `when a person denies, then the app gets access_denied`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let redirect = try await ScriptedBrowser(username: "alice", password: "", choice: .deny)
                .redirect(from: ProviderClient(provider).authorizationURL())
            let items = queryItems(redirect)
            #expect(items["error"] == "access_denied")
            #expect(items["state"] == "s-1")
            #expect(items["iss"] == provider.issuer)
            #expect(items["code"] == nil)
        }
    }

    @Test(arguments: [
        ["client_id": "another"], ["client_id": ""], ["redirect_uri": "https://evil.example/callback"],
        ["redirect_uri": "http://127.0.0.1:1/other"], ["redirect_uri": "http://127.0.0.1.evil.example/callback"],
        ["redirect_uri": "http://127.0.0.1:80@evil.example/callback"], ["redirect_uri": "http://localhost.evil/"],
        ["redirect_uri": "http://localhost:80;evil/x"], ["redirect_uri": "http://127.0.0.1:99999/callback"],
        ["redirect_uri": ""],
    ])
    func `when client or redirect is unknown, then no redirect follows`(changes: [String: String]) async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let answer = try await client.get(client.authorizationURL(changes))
            #expect(answer.status == 400)
            #expect(answer.headers["location"] == nil)
            #expect(answer.headers["content-type"]?.hasPrefix("text/html") == true)
        }
    }

    @Test(
        arguments: [
            (["code_challenge": nil], "invalid_request"), (["code_challenge_method": "plain"], "invalid_request"),
            (["response_type": "token"], "unsupported_response_type"), (["scope": "email"], "invalid_scope"),
            (["prompt": "none"], "login_required"), (["request": "x"], "request_not_supported"),
        ] as [([String: String?], String)])
    func `when a request is bad, then the redirect says why`(changes: [String: String?], code: String) async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let answer = try await client.get(client.authorizationURL(changes))
            #expect(answer.status == 303)
            let items = queryItems(answer.headers["location"] ?? "")
            #expect(items["error"] == code)
            #expect(items["state"] == "s-1")
            #expect(items["iss"] == provider.issuer)
        }
    }

    @Test(arguments: [
        "http://127.0.0.1/callback", "http://[::1]:5/callback", "http://localhost:8080/any/path",
        "com.example.app:/done",
    ])
    func `when a redirect URI is allowed, then it is used`(uri: String) async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.redirectURIs = ["com.example.app:/done"]
        try await withDevelopmentIdentityProvider(options) { provider in
            let redirect = try await ScriptedBrowser(username: "bob", password: "bob-password")
                .redirect(from: ProviderClient(provider).authorizationURL(["redirect_uri": uri]))
            #expect(redirect.hasPrefix("\(uri)?code="))
        }
    }

    @Test func `when parameters are hostile, then the page escapes them`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let hostile = #""><script>alert('1')</script>&"#
            for changes in [["login_hint": hostile], ["client_id": hostile], ["redirect_uri": hostile]] {
                let page = try await client.get(client.authorizationURL(changes))
                #expect(page.body.contains("&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;"))
                #expect(!page.body.contains("<script"))
                #expect(page.headers["cache-control"] == "no-store")
                let policy = try #require(page.headers["content-security-policy"])
                #expect(policy.hasPrefix("default-src 'none'"))
                #expect(policy.contains("frame-ancestors 'none'"))
            }
            let redirect = try await ScriptedBrowser(username: "alice", password: "alice-password")
                .redirect(from: client.authorizationURL(["state": "a&b=c#d\r\nX: é"]))
            #expect(queryItems(redirect)["state"] == "a&b=c#d\r\nX: é")
            #expect(redirect.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 32 })
        }
    }
}
