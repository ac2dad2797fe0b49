import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct BackendLoginTests {
    @Test func `when a code lacks PKCE, then an access token comes`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let redirect = try await client.browserLogin()
            #expect(redirect["state"]?.isEmpty == false)
            let answer = try await client.redeem(redirect)
            #expect(answer.status == 200)
            #expect(answer["token_type"] == "Bearer")
            #expect(answer.json["expires_in"] as? Int == 900)
            #expect(answer.json["refresh_token"] == nil)
            let user = [
                "id": DevelopmentIdentityProvider.User.alice.subject, "username": "alice",
                "fullName": "Alice Example", "email": "alice@example.com",
            ]
            #expect(answer.json["user"] as? [String: String] == user)
            let me = try await client.get("/auth/me", bearer: answer["access_token"])
            #expect(me.json as? [String: String] == user)
            #expect(try await client.redeem(redirect).status == 400)

            #expect(try await client.post("/auth/logout", [:], bearer: answer["access_token"]).status == 204)
            let gone = try await client.get("/auth/me", bearer: answer["access_token"])
            #expect(gone.status == 401)
            #expect(gone["error"] == "The access token is not valid.")
            #expect(
                await backend.requests.map(\.endpoint)
                    == [.browserLogin, .loginPage, .token, .me, .token, .logout, .me])
            #expect(await backend.requests.map(\.authorization).suffix(2) == ["Bearer", "Bearer"])
        }
    }

    @Test(arguments: [
        ["code_verifier": "x"], ["code_verifier": ""], ["state": "x"], ["redirect_uri": "http://127.0.0.1:1/callback"],
        ["code": "x"],
    ])
    func `when a code's parameters differ, then redeeming fails`(changes: [String: String]) async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let answer = try await client.redeem(client.browserLogin(), changes)
            #expect(answer.status == 400)
            #expect(answer["error"]?.isEmpty == false)
            #expect(answer["access_token"] == nil)
        }
    }

    @Test func `when a person denies, then the app gets access_denied`() async throws {
        var options = DevelopmentBackend.Options()
        options.redirectURIs = ["myapp://callback"]
        try await withDevelopmentBackend(options) { backend in
            let login = "\(backend.url)/auth/login?redirect_uri"
            let redirect = try await ScriptedBrowser(username: "alice", password: "", choice: .deny)
                .redirect(from: "\(login)=myapp://callback")
            #expect(redirect.hasPrefix("myapp://callback?error=access_denied&state="))
            let client = BackendClient(backend)
            for uri in ["https://evil.example/callback", "other://callback", ""] {
                let answer = try await client.get("/auth/login?redirect_uri=\(uri)")
                #expect(answer.status == 400)
                #expect(answer.headers["location"] == nil)
            }
            let wrong = await #expect(throws: VaultDevelopmentError.self) {
                try await ScriptedBrowser(username: "alice", password: "x").redirect(from: "\(login)=myapp://callback")
            }
            #expect(wrong?.description.contains("The username or the password is wrong.") == true)
        }
    }

    @Test func `when an access token's lifetime ends, then it is invalid`() async throws {
        var options = DevelopmentBackend.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        options.accessTokenLifetime = 10
        options.announcesLifetime = false
        options.users[0].name = ""
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let answer = try await client.redeem(client.browserLogin())
            #expect(answer.json["expires_in"] == nil)
            #expect((answer.json["user"] as? [String: String])?.keys.sorted() == ["email", "id", "username"])
            #expect(try await client.get("/auth/me", bearer: answer["access_token"]).status == 200)
            clock.advance(by: 11)
            #expect(try await client.get("/auth/me", bearer: answer["access_token"]).status == 401)
        }
    }

    @Test func `when a password login succeeds, then its refresh token rotates`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.login(password: "alice-password")
            #expect(first.status == 200)
            let token = try #require(first["accessToken"])
            let contents = try claims(of: token)
            let subject = DevelopmentIdentityProvider.User.alice.subject
            #expect(contents["sub"] as? String == subject && first["userID"] == subject)
            #expect((contents["exp"] as? Int ?? 0) - (contents["iat"] as? Int ?? 0) == 900)
            #expect(UUID(uuidString: first["refreshToken"] ?? "") != nil)
            #expect(try await client.get("/auth/me", bearer: token)["username"] == "alice")

            let second = try await client.refresh(first["refreshToken"])
            #expect(second.status == 200)
            #expect(second["refreshToken"] != first["refreshToken"])
            #expect(
                second.json.keys.sorted() == ["accessToken", "expiresAt", "refreshToken", "tokenType"])
            // A used refresh token ends the session, with all its tokens.
            let reused = try await client.refresh(first["refreshToken"])
            #expect(reused.status == 401)
            #expect(reused["message"] == "The refresh token is not valid." && reused["error"] == "reused_refresh_token")
            #expect(try await client.refresh(second["refreshToken"]).status == 401)
            #expect(try await client.get("/auth/me", bearer: second["accessToken"]).status == 401)
            let log = await backend.requests.filter { $0.endpoint == .refresh }
            #expect(log.map(\.outcome) == [.ok, .reusedRefreshToken, .invalidGrant])
            #expect(log.map(\.presentedGeneration) == [1, 1, nil])
            #expect(log.map(\.issuedGeneration) == [2, nil, nil])
        }
    }

    @Test func `when a refresh token is reused, then all sessions end`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.login(password: "alice-password")
            let elsewhere = try await client.login(password: "alice-password")
            let bob = try await client.login(email: "bob@example.com", password: "bob-password")
            _ = try await client.refresh(first["refreshToken"])
            #expect(try await client.refresh(first["refreshToken"]).status == 401)
            #expect(try await client.refresh(elsewhere["refreshToken"]).status == 401)
            #expect(try await client.refresh(bob["refreshToken"]).status == 200)
        }
    }

    @Test func `when a session logs out, then both tokens are needed`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.login(password: "alice-password")
            let second = try await client.refresh(first["refreshToken"])
            func logout(_ refreshToken: String?, _ bearer: String?) async throws -> Int {
                try await client.post("/auth/logout", ["refreshToken": refreshToken ?? ""], bearer: bearer).status
            }
            #expect(try await logout(second["refreshToken"], nil) == 401)
            #expect(try await client.post("/auth/logout", [:], bearer: second["accessToken"]).status == 400)
            // A rotated token is unknown.
            #expect(try await logout(first["refreshToken"], second["accessToken"]) == 404)
            #expect(try await logout(second["refreshToken"], second["accessToken"]) == 204)
            #expect(try await client.refresh(second["refreshToken"]).status == 401)
            #expect(try await logout(second["refreshToken"], second["accessToken"]) == 401)
        }
    }

    @Test func `when refreshes are frequent, then the backend refuses one`() async throws {
        var options = DevelopmentBackend.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        options.maximumRefreshes = 2
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            var tokens = try await client.login(password: "alice-password")
            for _ in 1...2 { tokens = try await client.refresh(tokens["refreshToken"]) }
            let refused = try await client.refresh(tokens["refreshToken"])
            #expect(refused.status == 429 && refused.headers["retry-after"] == nil)
            #expect(refused["message"]?.contains("15 minutes") == true)
            clock.advance(by: 901)
            #expect(try await client.refresh(tokens["refreshToken"]).status == 200)
        }
    }

    @Test func `when snake case is set, then answers use it`() async throws {
        var options = DevelopmentBackend.Options()
        options.usesSnakeCase = true
        options.loginPerson = .identifier
        options.issuesOpaqueTokens = true
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let login = try await client.login(password: "alice-password")
            #expect(
                login.json.keys.sorted() == ["access_token", "expires_in", "refresh_token", "token_type", "user_id"])
            #expect(login["access_token"]?.contains(".") == false)
            let fields = ["refresh_token": login["refresh_token"] ?? ""]
            #expect(try await client.post("/auth/refresh", fields).status == 200)
        }
    }

    @Test func `when a code is set, then login needs it`() async throws {
        var options = DevelopmentBackend.Options()
        options.code = "123456"
        options.maximumFailures = 2
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            var fields = ["email": "alice@example.com", "password": "alice-password"]
            let asked = try await client.post("/auth/login", fields)
            #expect(asked.status == 401 && asked["error"] == "mfa_required")
            fields["code"] = "654321"
            #expect(try await client.post("/auth/login", fields)["error"] == "invalid_code")
            fields["code"] = "123456"
            #expect(try await client.post("/auth/login", fields).status == 200)
            // Wrong codes count as wrong passwords do.
            fields["code"] = "654321"
            for _ in 1...2 { #expect(try await client.post("/auth/login", fields).status == 401) }
            fields["code"] = "123456"
            #expect(try await client.post("/auth/login", fields).status == 429)
        }
    }

    @Test func `when a sign-up needs confirmation, then two passwords must match`() async throws {
        var options = DevelopmentBackend.Options()
        options.wantsConfirmation = true
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            var fields = ["email": "eve@example.com", "password": "eves password"]
            let unconfirmed = try await client.post("/auth/sign-up", fields)
            #expect(unconfirmed.status == 400)
            fields["confirmPassword"] = "eves password"
            #expect(try await client.post("/auth/sign-up", fields).status == 201)
        }
    }

    @Test func `when passwords are wrong too often, then the address locks`() async throws {
        var options = DevelopmentBackend.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        options.maximumFailures = 3
        options.refreshTokenLifetime = 100
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            for _ in 0..<3 {
                let wrong = try await client.login(password: "wrong")
                #expect(wrong.status == 401)
                #expect(wrong["message"] == "The e-mail address or the password is wrong.")
                #expect(wrong["error"] == "wrong_password")
            }
            let locked = try await client.login(password: "alice-password")
            #expect(locked.status == 429)
            #expect(locked.headers["retry-after"] == "30")
            #expect(locked["message"]?.isEmpty == false)
            #expect(try await client.login(email: "bob@example.com", password: "bob-password").status == 200)
            clock.advance(by: 31)
            let tokens = try await client.login(password: "alice-password")
            #expect(tokens.status == 200)
            #expect(try await client.login(password: "").status == 400)
            #expect(try await client.post("/auth/login", ["email": "alice@example.com"]).status == 400)
            clock.advance(by: 101)
            #expect(try await client.refresh(tokens["refreshToken"]).status == 401)
        }
    }
}
