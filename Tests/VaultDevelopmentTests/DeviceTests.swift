import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct DeviceTests {
    private static let grant = "urn:ietf:params:oauth:grant-type:device_code"
    private let alice = ScriptedBrowser(username: "alice", password: "alice-password")

    @Test func `when the URL has the code, then the device connects`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let device = try await authorize(client)
            #expect(device.status == 200)
            #expect(device.headers["cache-control"] == "no-store")
            #expect(device["user_code"]?.wholeMatch(of: /[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}/) != nil)
            #expect(device["verification_uri"] == "\(provider.issuer)/device")
            #expect(device.json["expires_in"] as? Int == 600)
            #expect(device.json["interval"] as? Int == 5)
            #expect(try await poll(client, device)["error"] == "authorization_pending")

            let page = try await alice.visit(try #require(device["verification_uri_complete"]))
            #expect(page.title == "The device is connected. You can close this page.")
            let tokens = try await poll(client, device)
            #expect(tokens.status == 200)
            #expect(tokens["scope"] == "openid offline_access")
            #expect(tokens["id_token"] != nil)
            #expect(try await client.refresh(tokens["refresh_token"]).status == 200)
            let user = try await client.get("\(provider.issuer)/userinfo", bearer: tokens["access_token"])
            #expect(user["sub"] == DevelopmentIdentityProvider.User.alice.subject)
            // The code works once.
            #expect(try await poll(client, device)["error"] == "invalid_grant")

            let log = await provider.requests
            #expect(log.count { $0.endpoint == .deviceAuthorization } == 1)
            #expect(log.filter { $0.endpoint == .devicePage }.map(\.username) == [nil, nil, "alice", "alice"])
            #expect(
                log.filter { $0.grantType == Self.grant }.map(\.outcome.rawValue)
                    == ["authorization_pending", "ok", "replayed_code"])
        }
    }

    @Test(arguments: ["as shown", "lower case", "without the dash", "with a space"])
    func `when the code is typed loosely, then the device connects`(form: String) async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.offersVerificationURIComplete = false
        options.devicePollingInterval = nil
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let device = try await authorize(client)
            #expect(device.json["verification_uri_complete"] == nil)
            #expect(device.json["interval"] == nil)
            let shown = try #require(device["user_code"])
            let typed =
                switch form {
                case "lower case": shown.lowercased()
                case "without the dash": shown.replacing("-", with: "")
                case "with a space": shown.replacing("-", with: " ")
                default: shown
                }
            _ = try await alice.visit(try #require(device["verification_uri"]), userCode: typed)
            #expect(try await poll(client, device).status == 200)
        }
    }

    @Test func `when a person denies or mistypes, then no device connects`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let device = try await authorize(client)
            let url = try #require(device["verification_uri_complete"])
            let unknown = await #expect(throws: VaultDevelopmentError.self) {
                try await alice.visit(url, userCode: "BBBB")
            }
            #expect(unknown?.description.contains("No device has this code") == true)
            let wrong = await #expect(throws: VaultDevelopmentError.self) {
                try await ScriptedBrowser(username: "alice", password: "wrong").visit(url)
            }
            #expect(wrong?.description.contains("The username or the password is wrong.") == true)
            #expect(try await poll(client, device)["error"] == "authorization_pending")
            let page = try await ScriptedBrowser(username: "alice", password: "", choice: .deny).visit(url)
            #expect(page.title == "The device was not connected.")
            #expect(try await poll(client, device)["error"] == "access_denied")
            let outcomes = await provider.requests.filter { $0.endpoint == .devicePage }.map(\.outcome)
            #expect(outcomes.contains(.unknownUserCode) && outcomes.contains(.wrongPassword))
            #expect(outcomes.last == .denied)
        }
    }

    @Test func `when a person only logs in, then no device connects`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let device = try await authorize(client)
            let login = try await client.post("/device", ["user_code": device["user_code"] ?? ""])
            let request = String(try #require(login.body.firstMatch(of: /name="request" value="([^"]+)"/)?.1))
            #expect(try await client.post("/device", ["confirmation": request, "action": "allow"]).status == 401)
            let fields = ["request": request, "username": "alice", "password": "alice-password"]
            let question = try await client.post("/device", fields)
            #expect(question.status == 200)
            #expect(question.body.contains(try #require(device["user_code"])))
            #expect(question.body.contains("alice"))
            #expect(try await poll(client, device)["error"] == "authorization_pending")
            let allow = ["confirmation": request, "action": "allow"]
            #expect(try await client.post("/device", allow).status == 200)
            #expect(try await client.post("/device", allow).status == 400)
        }
    }

    @Test func `when polling is too early, then slow_down is answered`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        let clock = ManualClock(Date())
        options.now = { clock.now }
        options.devicePollingInterval = 2
        options.deviceCodeLifetime = 60
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let device = try await authorize(client)
            #expect(try await poll(client, device)["error"] == "authorization_pending")
            clock.advance(by: 1)
            #expect(try await poll(client, device)["error"] == "slow_down")
            clock.advance(by: 2)
            #expect(try await poll(client, device)["error"] == "slow_down")
            clock.advance(by: 12)
            #expect(try await poll(client, device)["error"] == "authorization_pending")
            clock.advance(by: 60)
            #expect(try await poll(client, device)["error"] == "expired_token")
            let late = await #expect(throws: VaultDevelopmentError.self) {
                try await alice.visit(try #require(device["verification_uri_complete"]))
            }
            #expect(late?.code == .unexpectedPage)
        }
        options.enforcesPollingInterval = false
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let device = try await authorize(client)
            for _ in 0..<3 { #expect(try await poll(client, device)["error"] == "authorization_pending") }
        }
    }

    @Test func `when another client uses a device code, then redemption fails`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let other = try await client.post(
                "/register",
                raw: #"{"token_endpoint_auth_method":"none","grant_types":["\#(Self.grant)"]}"#,
                type: "application/json")
            let device = try await authorize(client)
            _ = try await alice.visit(try #require(device["verification_uri_complete"]))
            let stolen = try await client.post(
                "/token",
                [
                    "grant_type": Self.grant, "client_id": other["client_id"] ?? "",
                    "device_code": device["device_code"] ?? "",
                ])
            #expect(stolen["error"] == "invalid_grant")
            #expect(try await client.post("/device_authorization", ["client_id": "unknown"]).status == 401)
        }
    }

    @Test func `when device authorization is off, then the grant is unsupported`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.offersDeviceAuthorization = false
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata["device_authorization_endpoint"] == nil)
            #expect(try await authorize(client).status == 404)
            let answer = try await client.post(
                "/token", ["grant_type": Self.grant, "client_id": "vault-cli", "device_code": "x"])
            #expect(answer["error"] == "unsupported_grant_type")
        }
    }

    private func authorize(_ client: ProviderClient) async throws -> ProviderClient.Answer {
        try await client.post(
            "/device_authorization", ["client_id": "vault-cli", "scope": "openid offline_access admin"])
    }

    private func poll(
        _ client: ProviderClient, _ device: ProviderClient.Answer
    ) async throws -> ProviderClient.Answer {
        try await client.post(
            "/token",
            ["grant_type": Self.grant, "client_id": "vault-cli", "device_code": device["device_code"] ?? ""])
    }
}
