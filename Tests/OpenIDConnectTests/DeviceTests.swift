import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("Device code")
struct DeviceTests {
    static let endpoint = "https://id.example/device"
    static let tokenEndpoint = "https://id.example/token"

    let provider = TestProvider()
    let clock = HastyClock()

    init() throws {
        provider.set { $0.metadata["device_authorization_endpoint"] = Self.endpoint }
        try answerDevice([:])
    }

    private func answerDevice(_ members: [String: (any Sendable)?], status: Int = 200) throws {
        var answer: [String: Any] = [
            "device_code": "SECRET-CODE", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example/activate",
            "verification_uri_complete": "https://id.example/activate?user_code=WDJB-MJHT", "expires_in": 1800,
            "interval": 5,
        ]
        for (name, value) in members { answer[name] = value }
        let text = try json(answer)
        provider.set { $0.routes[Self.endpoint] = { _ in .text(text, status: status) } }
    }

    /// The answers of the token endpoint to the polls, in order. After the last answer it gives tokens.
    private func poll(_ answers: [Result<HTTPAnswer, HTTPError>]) throws {
        let left = Lock(answers)
        let tokens = try json([
            "access_token": "ACCESS", "refresh_token": "REFRESH", "token_type": "Bearer",
            "id_token": provider.key.token(provider.claims()),
        ])
        provider.set {
            $0.token = { _ in
                try left.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.get() ?? .text(tokens)
            }
        }
    }

    private static func error(_ code: String, status: Int = 400) -> Result<HTTPAnswer, HTTPError> {
        .success(.text(#"{"error":"\#(code)"}"#, status: status))
    }

    private static func broken(_ code: HTTPError.Code) -> Result<HTTPAnswer, HTTPError> {
        .failure(HTTPError(code, authority: "id.example"))
    }

    @Test func `when the person signs in, then polling returns the tokens`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let device = try await client.authorizeDevice(scopes: ["openid", "offline_access"])
        #expect(device.userCode == "WDJB-MJHT")
        #expect(device.verificationURI == "https://id.example/activate")
        #expect(device.verificationURIComplete == "https://id.example/activate?user_code=WDJB-MJHT")
        #expect(device.expiresIn == .seconds(1800))
        #expect(device.interval == .seconds(5))
        #expect(transport.requests.last?.body == "scope=openid%20offline_access&client_id=vault-cli")

        try poll([Self.error("authorization_pending"), Self.error("authorization_pending")])
        let tokens = try await client.redeem(device, clock: clock)
        #expect(tokens.refreshToken == "REFRESH")
        #expect(tokens.idToken?.subject == "alice")
        #expect(clock.waits == [.seconds(5), .seconds(5), .seconds(5)])
        #expect(
            transport.requests.last { $0.method == .post }?.body
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=SECRET-CODE"
                + "&client_id=vault-cli")
        var printed = "\(device)\(String(reflecting: device))"
        dump(device, to: &printed)
        #expect(!printed.contains("SECRET-CODE"))
        #expect(!printed.contains("WDJB"))
    }

    @Test func `when slow_down arrives, then later polls wait 5 seconds longer`() async throws {
        try poll([Self.error("slow_down"), Self.error("authorization_pending"), Self.error("slow_down")])
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        _ = try await client.redeem(device, clock: clock)
        #expect(clock.waits == [.seconds(5), .seconds(10), .seconds(10), .seconds(15)])
    }

    @Test func `when polls fail, then the waits grow until one succeeds`() async throws {
        try poll(
            [Self.broken(.notConnected), Self.broken(.interrupted), .success(.text("", status: 502))]
                + [Self.broken(.notConnected), .success(.text("", status: 429)), Self.error("authorization_pending")])
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        #expect(try await client.redeem(device, clock: clock).idToken?.subject == "alice")
        #expect(clock.waits == [5, 10, 20, 40, 60, 60, 5].map { Duration.seconds($0) })
    }

    @Test(
        arguments: [
            ("access_denied", OpenIDConnectError.Code.denied), ("expired_token", .deviceCodeExpired),
            ("invalid_grant", .deviceCodeExpired), ("invalid_client", .refused), ("unauthorized_client", .refused),
        ])
    func `when the provider refuses a device code, then polling ends`(
        error: String, code: OpenIDConnectError.Code
    ) async throws {
        try poll([Self.error("authorization_pending"), Self.error(error)])
        let transport = provider.transport()
        let client = provider.client(transport)
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let thrown = await caught { _ = try await client.redeem(device, clock: clock) }
        #expect(thrown?.code == code)
        #expect(thrown?.providerError == error)
        #expect(thrown?.mayHaveBeenProcessed == false)
        #expect(thrown?.description.contains("SECRET-CODE") == false)
        #expect(transport.count(of: Self.tokenEndpoint) == 2)
    }

    @Test(
        arguments: [
            ("temporarily_unavailable", 400), ("server_error", 400), ("temporarily_unavailable", 503),
            ("server_error", 500), ("access_denied", 500), ("expired_token", 503), ("invalid_request", 429), ("x", 408),
        ])
    func `when a final error has any status, then polling stops`(error: String, status: Int) async throws {
        try poll([.success(.text(#"{"error":"\#(error)"}"#, status: status))])
        let transport = provider.transport()
        let client = provider.client(transport)
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let thrown = await caught { _ = try await client.redeem(device, clock: clock) }
        #expect(thrown?.providerError == error)
        #expect(transport.count(of: Self.tokenEndpoint) == 1)
    }

    @Test(arguments: [400, 403, 429, 428, 503])
    func `when pending or slow_down has any status, then polling continues`(status: Int) async throws {
        try poll([
            .success(.text(#"{"error":"authorization_pending"}"#, status: status)),
            .success(.text(#"{"error":"slow_down"}"#, status: status)),
        ])
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        #expect(try await client.redeem(device, clock: clock).idToken?.subject == "alice")
        #expect(clock.waits == [.seconds(5), .seconds(5), .seconds(10)])
    }

    @Test func `when tokens get lost, then the error says so`() async throws {
        try poll([Self.broken(.interrupted), Self.error("invalid_grant")])
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let error = await caught { _ = try await client.redeem(device, clock: clock) }
        #expect(error?.code == .deviceCodeExpired)
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(error?.description.contains("lost") == true)
    }

    @Test func `when early polls fail, then the error reports no loss`() async throws {
        try poll([Self.broken(.interrupted), Self.error("authorization_pending"), Self.error("expired_token")])
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let error = await caught { _ = try await client.redeem(device, clock: clock) }
        #expect(error?.code == .deviceCodeExpired)
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test func `when the token answer is unreadable, then polling stops`() async throws {
        try poll([.success(.text("<html>"))])
        let transport = provider.transport()
        let client = provider.client(transport)
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let error = await caught { _ = try await client.redeem(device, clock: clock) }
        #expect(error?.code == .invalidAnswer)
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(transport.count(of: Self.tokenEndpoint) == 1)
    }

    @Test func `when the device code expires, then polling stops`() async throws {
        try answerDevice(["expires_in": 17])
        try poll(Array(repeating: Self.error("authorization_pending"), count: 100))
        let transport = provider.transport()
        let client = provider.client(transport)
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let error = await caught { _ = try await client.redeem(device, clock: clock) }
        #expect(error?.code == .deviceCodeExpired)
        #expect(transport.count(of: Self.tokenEndpoint) == 3)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when the wait is cancelled, then polling ends at once`() async throws {
        try answerDevice(["interval": 3600, "expires_in": 86_400])
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let task = Task { try await client.redeem(device) }
        task.cancel()
        #expect(await errorCode { _ = try await task.value } == .cancelled)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a running poll is cancelled, then polling ends immediately`() async throws {
        let started = Gate()
        provider.set {
            $0.token = { _ in
                started.open()
                try await Task.sleep(for: .seconds(86_400))
                return .text("")
            }
        }
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        let task = Task { try await client.redeem(device, clock: clock) }
        await started.wait()
        task.cancel()
        let error = await caught { _ = try await task.value }
        #expect(error?.code == .cancelled)
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test func `when no valid ID token comes, then the sign-in fails`() async throws {
        let client = provider.client()
        let device = try await client.authorizeDevice(scopes: ["openid"])
        try provider.answer(idToken: TestKey.es256().token(provider.claims()))
        #expect(await errorCode { _ = try await client.redeem(device, clock: clock) } == .tokenInvalid)
        try provider.answer()
        #expect(await errorCode { _ = try await client.redeem(device, clock: clock) } == .invalidAnswer)
    }

    @Test(
        arguments: [
            (["expires_in": nil, "interval": nil], 600, 5), (["expires_in": "300", "interval": "7"], 300, 7),
            (["expires_in": 0, "interval": 0], 600, 5), (["expires_in": -1, "interval": -1], 600, 5),
            (["expires_in": "soon", "interval": true], 600, 5), (["expires_in": 1e300, "interval": 0.1], 86_400, 1),
            (["interval": 1e9], 1800, 3600),
        ] as [([String: (any Sendable)?], Int, Int)])
    func `when lifetime or interval is odd, then bounded values apply`(
        members: [String: (any Sendable)?], expiresIn: Int, interval: Int
    ) async throws {
        try answerDevice(members)
        let device = try await provider.client().authorizeDevice(scopes: ["openid"])
        #expect(device.expiresIn == .seconds(expiresIn))
        #expect(device.interval == .seconds(interval))
    }

    @Test(
        arguments: [
            ["device_code": nil], ["device_code": ""], ["user_code": nil], ["user_code": "A\u{1B}[2J"],
            ["user_code": String(repeating: "A", count: 65)], ["verification_uri": nil],
            ["verification_uri": "http://evil.example/"], ["verification_uri": "http://127.0.0.1:1/"],
            ["verification_uri": "javascript:alert(1)"],
            ["verification_uri": 7],
        ] as [[String: (any Sendable)?]])
    func `when the device answer is unusable, then the request fails`(members: [String: (any Sendable)?]) async throws {
        try answerDevice(members)
        #expect(
            await errorCode { _ = try await provider.client().authorizeDevice(scopes: ["openid"]) } == .invalidAnswer)
    }

    @Test func `when the QR address is unsafe, then it is omitted`() async throws {
        try answerDevice([
            "verification_uri": nil, "verification_url": "https://id.example/old",
            "verification_uri_complete": "file:///etc/passwd",
        ])
        let device = try await provider.client().authorizeDevice(scopes: ["openid"])
        #expect(device.verificationURI == "https://id.example/old")
        #expect(device.verificationURIComplete == nil)
    }

    @Test(
        arguments: [
            (HTTPAnswer.text(#"{"error":"unauthorized_client"}"#, status: 400), OpenIDConnectError.Code.refused),
            (.text("", status: 403), .refused), (.text("", status: 500), .unavailable), (.text("x"), .invalidAnswer),
        ])
    func `when device authorization fails, then the error code tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        provider.set { $0.routes[Self.endpoint] = { _ in answer } }
        let error = await caught { _ = try await provider.client().authorizeDevice(scopes: ["openid"]) }
        #expect(error?.code == code)
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test func `when device sign-in is impossible, then no request is sent`() async {
        provider.set { $0.metadata["device_authorization_endpoint"] = nil }
        let transport = provider.transport()
        let client = provider.client(transport)
        #expect(await errorCode { _ = try await client.authorizeDevice(scopes: ["openid"]) } == .unsupported)
        #expect(await errorCode { _ = try await client.authorizeDevice(scopes: ["email"]) } == .configurationInvalid)
        #expect(!transport.requests.contains { $0.method == .post })
    }
}
