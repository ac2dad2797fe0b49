import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct TokenTests {
    @Test func `when tokens are refreshed, then the refresh token rotates`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let first = try await client.login()
            let second = try await client.refresh(first["refresh_token"])
            let third = try await client.refresh(second["refresh_token"])
            #expect(third.status == 200)
            #expect(Set([first, second, third].map { $0["refresh_token"] }).count == 3)
            #expect(Set([first, second, third].map { $0["access_token"] }).count == 3)
            let log = await provider.requests.filter { $0.endpoint == .token }
            #expect(log.map(\.grantType) == ["authorization_code", "refresh_token", "refresh_token"])
            #expect(log.map(\.presentedGeneration) == [nil, 1, 2])
            #expect(log.map(\.issuedGeneration) == [1, 2, 3])
            #expect(log.allSatisfy { $0.username == "alice" && $0.outcome == .ok })
        }
    }

    @Test func `when refresh tokens are reused, then the newest is revoked`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let first = try await client.login()
            let other = try await client.login()
            let second = try await client.refresh(first["refresh_token"])
            let reused = try await client.refresh(first["refresh_token"])
            #expect(reused.status == 400)
            #expect(reused["error"] == "invalid_grant")
            #expect(reused.headers["cache-control"] == "no-store")
            #expect(try await client.refresh(second["refresh_token"])["error"] == "invalid_grant")
            #expect(try await client.get("\(provider.issuer)/userinfo", bearer: second["access_token"]).status == 401)
            #expect(await provider.requests.map(\.outcome).contains(.reusedRefreshToken))
            // Another login of the same person starts another family.
            #expect(try await client.refresh(other["refresh_token"]).status == 200)
        }
    }

    @Test func `when one token is refreshed in parallel, then one succeeds`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.reuseDetection = false
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            let answers = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let answer = try await client.refresh(token)
                        return (answer.status, answer["refresh_token"])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = answers.filter { $0.0 == 200 }
            #expect(winners.count == 1)
            // Without reuse detection the newest token stays valid.
            #expect(try await client.refresh(winners.first?.1).status == 200)
        }
    }

    @Test func `when rotation is off, then the refresh token stays valid`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.rotatesRefreshTokens = false
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            for _ in 0..<3 {
                let answer = try await client.refresh(token)
                #expect(answer.status == 200)
                #expect(answer["refresh_token"] == nil)
            }
        }
    }

    @Test func `when a code is replayed, then its tokens are revoked`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let code = try await client.code()
            let tokens = try await client.redeem(code: code)
            #expect(tokens.status == 200)
            #expect(try await client.redeem(code: code)["error"] == "invalid_grant")
            #expect(try await client.refresh(tokens["refresh_token"])["error"] == "invalid_grant")
            #expect(await provider.requests.map(\.outcome).contains(.replayedCode))
        }
    }

    @Test func `when a code's parameters or time differ, then redeeming fails`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let wrongVerifier = try await client.redeem(
                code: client.code(), ["code_verifier": String(repeating: "a", count: 43)])
            #expect(wrongVerifier["error"] == "invalid_grant")
            let wrongRedirect = try await client.redeem(
                code: client.code(), ["redirect_uri": "http://127.0.0.1:49153/callback"])
            #expect(wrongRedirect["error"] == "invalid_grant")
            let wrongClient = try await client.redeem(code: client.code(), ["client_id": "other"])
            #expect(wrongClient.status == 401)
            #expect(wrongClient["error"] == "invalid_client")
            let code = try await client.code()
            clock.advance(by: 61)
            #expect(try await client.redeem(code: code)["error"] == "invalid_grant")
            #expect(try await client.redeem(code: "never-given")["error"] == "invalid_grant")
        }
    }

    @Test func `when an access token expires, then userinfo refuses it`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        options.accessTokenLifetime = 10
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let tokens = try await client.login()
            #expect(tokens.json["expires_in"] as? Int == 10)
            let userInfo = "\(provider.issuer)/userinfo"
            #expect(try await client.get(userInfo, bearer: tokens["access_token"]).status == 200)
            clock.advance(by: 11)
            #expect(try await client.get(userInfo, bearer: tokens["access_token"]).status == 401)
            #expect(try await client.get(userInfo, bearer: tokens["refresh_token"]).status == 401)
            #expect(try await client.refresh(tokens["access_token"])["error"] == "invalid_grant")
        }
    }

    @Test func `when a request is malformed, then the protocol's error returns`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let bad = ["grant_type=refresh_token&client_id=%zz", "grant_type=a&grant_type=b&client_id=vault-cli", ""]
            for body in bad {
                let answer = try await client.post("/token", raw: body)
                #expect((400...401).contains(answer.status))
                #expect(answer["error"] != nil)
            }
            let json = try await client.post("/token", raw: "{}", type: "application/json")
            #expect(json["error"] == "invalid_request")
            let grant = try await client.post("/token", ["grant_type": "password", "client_id": "vault-cli"])
            #expect(grant["error"] == "unsupported_grant_type")
            let large = try await client.post("/token", raw: String(repeating: "a", count: 1 << 17))
            #expect(large.status == 413)
            let scope = try await client.refresh(client.login()["refresh_token"], ["scope": "openid admin"])
            #expect(scope["error"] == "invalid_scope")
        }
    }

    @Test func `when a refresh token is revoked, then its login ends`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let tokens = try await client.login()
            let userInfo = "\(provider.issuer)/userinfo"
            let byAccess = try await client.post(
                "/revoke", ["client_id": "vault-cli", "token": tokens["access_token"] ?? ""])
            #expect(byAccess.status == 200)
            #expect(try await client.get(userInfo, bearer: tokens["access_token"]).status == 401)
            let newer = try await client.refresh(tokens["refresh_token"])
            #expect(newer.status == 200)
            let byRefresh = try await client.post(
                "/revoke", ["client_id": "vault-cli", "token": newer["refresh_token"] ?? ""])
            #expect(byRefresh.status == 200)
            #expect(try await client.refresh(newer["refresh_token"])["error"] == "invalid_grant")
            #expect(try await client.get(userInfo, bearer: newer["access_token"]).status == 401)
            #expect(try await client.post("/revoke", ["client_id": "vault-cli", "token": "unknown"]).status == 200)
            #expect(try await client.post("/revoke", ["token": "unknown"]).status == 401)
        }
    }

    @Test func `when the provider allows fewer scopes, then fewer are granted`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.scopes = ["openid", "email"]
        try await withDevelopmentIdentityProvider(options) { provider in
            let tokens = try await ProviderClient(provider).login()
            #expect(tokens["scope"] == "openid email")
            #expect(tokens["refresh_token"] == nil)
        }
    }
}
