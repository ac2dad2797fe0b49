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
            let token = try #require(first["access_token"])
            let claims = try claims(token)
            #expect(claims["sub"] as? String == DevelopmentIdentityProvider.User.alice.subject)
            #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 900)
            #expect(UUID(uuidString: first["refresh_token"] ?? "") != nil)
            #expect(try await client.get("/auth/me", bearer: token)["username"] == "alice")

            let second = try await client.refresh(first["refresh_token"])
            #expect(second.status == 200)
            #expect(second["refresh_token"] != first["refresh_token"])
            // A used refresh token ends the session, with all its tokens.
            let reused = try await client.refresh(first["refresh_token"])
            #expect(reused.status == 401)
            #expect(reused["error"] == "The refresh token is not valid.")
            #expect(try await client.refresh(second["refresh_token"]).status == 401)
            #expect(try await client.get("/auth/me", bearer: second["access_token"]).status == 401)
            let log = await backend.requests.filter { $0.endpoint == .refresh }
            #expect(log.map(\.outcome) == [.ok, .reusedRefreshToken, .invalidGrant])
            #expect(log.map(\.presentedGeneration) == [1, 1, nil])
            #expect(log.map(\.issuedGeneration) == [2, nil, nil])
        }
    }

    @Test func `when either token logs out, then the session ends`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.login(password: "alice-password")
            #expect(try await client.post("/auth/logout", [:], bearer: first["access_token"]).status == 204)
            #expect(try await client.refresh(first["refresh_token"]).status == 401)
            let second = try await client.login(password: "alice-password")
            let fields = ["refresh_token": second["refresh_token"] ?? ""]
            #expect(try await client.post("/auth/logout", fields).status == 204)
            #expect(try await client.get("/auth/me", bearer: second["access_token"]).status == 401)
            #expect(try await client.post("/auth/logout", fields).status == 401)
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
                #expect(wrong["error"] == "The e-mail address or the password is wrong.")
            }
            let locked = try await client.login(password: "alice-password")
            #expect(locked.status == 429)
            #expect(locked.headers["retry-after"] == "30")
            #expect(locked["error"]?.isEmpty == false)
            #expect(try await client.login(email: "bob@example.com", password: "bob-password").status == 200)
            clock.advance(by: 31)
            let tokens = try await client.login(password: "alice-password")
            #expect(tokens.status == 200)
            #expect(try await client.login(password: "").status == 400)
            #expect(try await client.post("/auth/login", ["email": "alice@example.com"]).status == 400)
            clock.advance(by: 101)
            #expect(try await client.refresh(tokens["refresh_token"]).status == 401)
        }
    }

    private func claims(_ token: String) throws -> [String: Any] {
        let part = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
        let padded = part + String(repeating: "=", count: (4 - part.count % 4) % 4)
        let value = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: padded)))
        return try #require(value as? [String: Any])
    }
}
