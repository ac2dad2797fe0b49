import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct BackendServerTests {
    @Test func `when OAuth is not offered, then its endpoints answer 404`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let info = try await client.get("/api/info")
            #expect(
                info.body
                    == #"{"features":["oauth"],"version":{"build":"dev","canonical":"1.4.2","release":"1.4"}}"#)
            let identifier = try await client.register()
            await backend.setFeatures(nil)
            #expect(try await client.get("/api/info").json["features"] == nil)
            #expect(try await client.get("/api/info").json["version"] != nil)
            #expect(try await client.http.get(client.authorizeURL(identifier)).status == 404)
            #expect(try await client.oauthRefresh("x", client: identifier).status == 404)
            #expect(try await client.post("/api/oauth/client", [:]).status == 404)
        }
    }

    @Test func `when an OAuth client registers, then sign-in and refresh work`() async throws {
        try await withDevelopmentBackend(.lenient) { backend in
            let client = BackendClient(backend)
            let identifier = try await client.register()
            let first = try await client.oauthLogin(identifier)
            #expect(first.status == 200)
            #expect(first["scope"] == "items:read")
            #expect(first.json["expires_in"] as? Int == 900)
            let profile = try await client.get("/api/profile", bearer: first["access_token"])
            #expect(
                profile.json["user"] as? [String: String] == [
                    "id": DevelopmentIdentityProvider.User.alice.subject, "username": "alice",
                    "email": "alice@example.com",
                ])
            let second = try await client.oauthRefresh(first["refresh_token"], client: identifier)
            #expect(second.status == 200)
            #expect(second["refresh_token"] != first["refresh_token"])
            let reused = try await client.oauthRefresh(first["refresh_token"], client: identifier)
            #expect(reused.status == 400)
            #expect(reused["error"] == "invalid_grant")
            let other = try await client.register()
            let foreign = try await client.oauthRefresh(second["refresh_token"], client: other)
            #expect(foreign["error"] == "invalid_grant")
            #expect(
                await backend.requests.filter { $0.endpoint == .oauthToken }.map(\.grantType)
                    == ["authorization_code", "refresh_token", nil, nil])
        }
    }

    @Test func `when refresh tokens are off, then OAuth issues none`() async throws {
        var options = DevelopmentBackend.Options.lenient
        options.oauthIssuesRefreshToken = false
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let identifier = try await client.register()
            let tokens = try await client.oauthLogin(identifier)
            #expect(tokens.status == 200)
            #expect(tokens.json["refresh_token"] == nil)
            #expect(tokens.json["expires_in"] == nil)
            #expect(try await client.oauthRefresh("x", client: identifier)["error"] == "unsupported_grant_type")
        }
    }

    @Test(arguments: [["code_verifier": "x"], ["code": "x"], ["redirect_uri": "http://127.0.0.1:1/callback"]])
    func `when an OAuth code's parameters differ, then redeeming fails`(changes: [String: String]) async throws {
        try await withDevelopmentBackend(.lenient) { backend in
            let client = BackendClient(backend)
            let answer = try await client.oauthLogin(client.register(), changes)
            #expect(answer.status == 400)
            #expect(answer["error"] == "invalid_grant")
        }
    }

    @Test func `when OAuth requests are bad, then their errors are specific`() async throws {
        try await withDevelopmentBackend(.lenient) { backend in
            let client = BackendClient(backend)
            let identifier = try await client.register()
            let withoutPKCE = try await client.http.get(client.authorizeURL(identifier, ["code_challenge": nil]))
            #expect(withoutPKCE.status == 303)
            #expect(queryItems(withoutPKCE.headers["location"] ?? "")["error"] == "invalid_request")
            let withoutState = try await client.http.get(client.authorizeURL(identifier, ["state": nil]))
            #expect(queryItems(withoutState.headers["location"] ?? "")["error"] == "invalid_request")
            for changes in [["redirect_uri": "http://127.0.0.1:1/other"], ["client_id": "unknown"]] {
                let answer = try await client.http.get(client.authorizeURL(identifier, changes))
                #expect(answer.status == 400)
                #expect(answer.headers["location"] == nil)
            }
            let json = try await client.post("/api/oauth/token", ["grant_type": "authorization_code"])
            #expect(json["error"] == "invalid_request")
            #expect(try await client.post("/api/oauth/client", ["client_name": "x"]).status == 400)
            await backend.forgetClients()
            #expect(try await client.oauthRefresh("x", client: identifier)["error"] == "invalid_client")
        }
    }

    @Test func `when an API token ages, then it still works`() async throws {
        var options = DevelopmentBackend.Options.lenient
        let clock = ManualClock(Date())
        options.now = { clock.now }
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let fields = ["application": "Notes", "username": "bob", "password": "bob-password"]
            let answer = try await client.post("/api/auth", fields)
            #expect(answer.json.keys.sorted() == ["id", "token"])
            clock.advance(by: 366 * 86400)
            await backend.invalidateAccessTokens()
            let profile = try await client.get("/api/profile", bearer: answer["token"])
            #expect((profile.json["user"] as? [String: String])?["username"] == "bob")
            await backend.endAllSessions()
            #expect(try await client.get("/api/profile", bearer: answer["token"]).status == 401)
            let wrong = try await client.post("/api/auth", fields.merging(["password": "x"]) { $1 })
            #expect(wrong.status == 401)
            #expect(wrong["error"] == "The username or the password is wrong.")
            #expect(try await client.post("/api/auth", fields.merging(["application": ""]) { $1 }).status == 400)
        }
    }

    @Test func `when paths are changed, then only the new ones answer`() async throws {
        var options = DevelopmentBackend.Options()
        options.paths = DevelopmentBackend.Paths(under: "/notes")
        options.paths.me = "/whoami"
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let tokens = try await client.redeem(client.browserLogin())
            #expect(try await client.get("/whoami", bearer: tokens["access_token"]).status == 200)
            #expect(try await client.get("/auth/me", bearer: tokens["access_token"]).status == 404)
            #expect(try await client.get("/notes/api/info").status == 200)
        }
        options.paths.me = options.paths.items
        let error = await #expect(throws: VaultDevelopmentError.self) { try await DevelopmentBackend.start(options) }
        #expect(error?.code == .invalidOption)
    }
}
