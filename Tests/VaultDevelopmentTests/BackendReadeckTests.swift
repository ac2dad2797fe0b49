import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The rules of Readeck, with OAuth since 0.22, and before.
@Suite struct BackendReadeckTests {
    private static let device = "urn:ietf:params:oauth:grant-type:device_code"

    @Test func `when a Readeck client registers, then it gets one token`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let identifier = try await client.register()
            let tokens = try await client.oauthLogin(identifier, scope: "bookmarks:read profile:read")
            #expect(tokens.status == 201)
            #expect(tokens.json.keys.sorted() == ["access_token", "id", "scope", "token_type"])
            #expect(tokens["scope"] == "bookmarks:read profile:read")
            let profile = try await client.get("/api/profile", bearer: tokens["access_token"])
            #expect(
                profile.json["user"] as? [String: String] == ["username": "alice", "email": "alice@example.com"])
            // The client is gone.
            #expect(try await client.http.get(client.authorizeURL(identifier)).status == 400)
            #expect(try await client.oauthRefresh("x", client: identifier)["error"] == "invalid_client")
        }
    }

    @Test func `when the person refuses, then Readeck forgets the client`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let identifier = try await client.register()
            let url = client.authorizeURL(identifier, ["scope": "bookmarks:read"])
            let redirect = try await ScriptedBrowser(username: "alice", password: "", choice: .deny).redirect(from: url)
            #expect(queryItems(redirect) == ["code": "", "error": "access_denied", "state": "s-1"])
            #expect(try await client.http.get(url).status == 400)
        }
    }

    @Test func `when ten minutes pass, then Readeck forgets a client`() async throws {
        var options = DevelopmentBackend.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let identifier = try await client.register()
            let url = client.authorizeURL(identifier, ["scope": "bookmarks:read"])
            clock.advance(by: 590)
            #expect(try await client.http.get(url).status == 200)
            clock.advance(by: 11)
            #expect(try await client.http.get(url).status == 400)
        }
    }

    @Test(arguments: [
        #"{"client_uri":null}"#, #"{"client_uri":"http://notes.example.com/"}"#,
        #"{"client_uri":"https://localhost/"}"#,
        #"{"client_uri":"https://192.168.0.1/"}"#, #"{"client_uri":"https://[fc00::1]/"}"#, #"{"client_uri":""}"#,
        #"{"software_id":null}"#, #"{"software_version":null}"#, #"{"client_name":null}"#,
        #"{"grant_types":["authorization_code","refresh_token"]}"#, #"{"response_types":["token"]}"#,
        #"{"token_endpoint_auth_method":"client_secret_post"}"#, #"{"redirect_uris":[]}"#,
        #"{"redirect_uris":["http://localhost/callback"]}"#, #"{"redirect_uris":["http://notes.example.com/"]}"#,
    ])
    func `when a registration breaks a rule, then Readeck refuses it`(change: String) async throws {
        try await withDevelopmentBackend { backend in
            let answer = try await BackendClient(backend).registration(change)
            #expect(answer.status == 400)
            let isURI = change.contains("redirect_uris")
            #expect(answer["error"] == (isURI ? "invalid_redirect_uri" : "invalid_client_metadata"))
        }
    }

    @Test(arguments: [
        ("scope", "", "invalid_scope"), ("scope", "bookmarks:read admin", "invalid_scope"),
        ("state", String(repeating: "s", count: 65), "invalid_request"),
    ])
    func `when an authorization breaks a rule, then Readeck says so`(
        name: String, value: String, error: String
    ) async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            var changes: [String: String?] = ["scope": "bookmarks:read"]
            changes[name] = value
            let answer = try await client.http.get(client.authorizeURL(client.register(), changes))
            #expect(answer.status == 303)
            #expect(queryItems(answer.headers["location"] ?? "")["error"] == error)
        }
    }

    @Test func `when the port differs, then Readeck refuses the redirect`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let changes = ["scope": "bookmarks:read", "redirect_uri": "http://127.0.0.1:1/callback"]
            let answer = try await client.http.get(client.authorizeURL(client.register(), changes))
            #expect(answer.status == 400)
            #expect(answer.headers["location"] == nil)
        }
    }

    @Test func `when a token ends itself, then Readeck ends it`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.oauthLogin(client.register(), scope: "bookmarks:read")["access_token"]
            let second = try await client.oauthLogin(client.register(), scope: "bookmarks:read")["access_token"]
            #expect(try await client.revoke(first, bearer: nil).status == 401)
            #expect(try await client.revoke(first, bearer: second)["error"] == "access_denied")
            let profile = try await client.get("/api/profile", bearer: first)
            #expect(profile.json["user"] as? [String: String] == ["username": "alice"])
            #expect(try await client.revoke(first, bearer: first).status == 200)
            #expect(try await client.get("/api/profile", bearer: first).status == 401)
            #expect(try await client.revoke(first, bearer: first).status == 401)
        }
    }

    @Test func `when Readeck has OAuth, then it takes no passwords`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            var fields = ["application": "Notes", "username": "bob", "password": "bob-password"]
            #expect(try await client.post("/api/auth", fields).status == 404)
            await backend.setFeatures(["email"])
            let answer = try await client.post("/api/auth", fields)
            #expect(answer.status == 201)
            fields["password"] = "x"
            #expect(try await client.post("/api/auth", fields).status == 403)
            // The token outlives an update to OAuth.
            await backend.setFeatures(["oauth"])
            let profile = try await client.get("/api/profile", bearer: answer["token"])
            #expect(profile.json["user"] as? [String: String] == ["username": "bob", "email": "bob@example.com"])
        }
    }

    @Test func `when a server is old, then it says nothing`() async throws {
        var options = DevelopmentBackend.Options()
        options.hasInfo = false
        options.features = nil
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let information = try await client.get("/api/info")
            #expect(information.status == 404)
            let fields = ["application": "Notes", "username": "bob", "password": "bob-password"]
            #expect(try await client.post("/api/auth", fields).status == 201)
        }
    }

    @Test func `when a person makes a token, then it works`() async throws {
        try await withDevelopmentBackend { backend in
            let page = try await ScriptedBrowser(username: "bob", password: "bob-password")
                .visit(backend.url + backend.paths.apiTokenPage)
            #expect(page.title == "Your API token")
            let found = try #require(page.body.firstMatch(of: /<p class="lead">([^<]+)</))
            let profile = try await BackendClient(backend).get("/api/profile", bearer: String(found.output.1))
            #expect((profile.json["user"] as? [String: String])?["username"] == "bob")
        }
    }

    @Test func `when a person types a device's code, then it connects`() async throws {
        var options = DevelopmentBackend.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let inBrowser = try await client.register()
            #expect(try await authorize(client, inBrowser)["error"] == "unauthorized_client")
            let registered = try await client.registration(
                #"{"grant_types":["\#(Self.device)"],"redirect_uris":null}"#)
            let identifier = try #require(registered["client_id"])
            #expect(try await authorize(client, identifier, scope: "")["error"] == "invalid_scope")
            let device = try await authorize(client, identifier)
            #expect(device.json["expires_in"] as? Int == 300)
            #expect(try await poll(client, identifier, device)["error"] == "authorization_pending")
            #expect(try await poll(client, identifier, device)["error"] == "slow_down")
            let alice = ScriptedBrowser(username: "alice", password: "alice-password")
            await #expect(throws: VaultDevelopmentError.self) {
                try await alice.visit(backend.url + backend.paths.devicePage, userCode: "BCDFGHJK-wrong")
            }
            let page = try await alice.visit(try #require(device["verification_uri_complete"]))
            #expect(page.title == "The device is connected. You can close this page.")
            let tokens = try await poll(client, identifier, device)
            #expect(tokens.status == 201)
            #expect(tokens["scope"] == "bookmarks:read")

            let denied = try await authorize(client, identifier)
            _ = try await ScriptedBrowser(username: "alice", password: "", choice: .deny)
                .visit(try #require(denied["verification_uri"]), userCode: denied["user_code"])
            #expect(try await poll(client, identifier, denied)["error"] == "access_denied")
            let late = try await authorize(client, identifier)
            clock.advance(by: 301)
            #expect(try await poll(client, identifier, late)["error"] == "expired_token")
        }
    }

    private func authorize(
        _ client: BackendClient, _ identifier: String, scope: String = "bookmarks:read"
    ) async throws -> ProviderClient.Answer {
        try await client.http.post(client.paths.oauthDevice, ["client_id": identifier, "scope": scope])
    }

    private func poll(
        _ client: BackendClient, _ identifier: String, _ device: ProviderClient.Answer
    ) async throws -> ProviderClient.Answer {
        let fields = [
            "grant_type": Self.device, "client_id": identifier, "device_code": device["device_code"] ?? "",
        ]
        return try await client.http.post(client.paths.oauthToken, fields)
    }
}
