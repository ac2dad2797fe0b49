import Foundation
import HTTPTypes
import Testing
import VaultBase
import VaultHTTP
import VaultNetworking

@testable import OpenIDConnect

/// No answer of a server may end the process. A crash ends the test run. The cases that were running are then in the
/// files `hostile-answer-*` in the folder for temporary files. `HOSTILE_SEED` and `HOSTILE_CASES` choose other cases.
@Suite("Hostile answers", .serialized)
struct HostileAnswersTests {
    /// A provider with one endpoint that the test answers.
    private final class Provider: Sendable {
        enum Endpoint: String, CaseIterable {
            case discovery = "/.well-known/openid-configuration"
            case keys = "/keys"
            case token = "/token"
            case userinfo = "/userinfo"
            case push = "/par"
            case device = "/device"
        }

        let hostile = Lock<(endpoint: Endpoint, answer: HostileServer.Answer)?>(nil)
        let server: HostileServer
        var issuer: String { "http://127.0.0.1:\(server.port)" }

        init() async throws {
            let issuer = Lock("")
            let hostile = Lock<(@Sendable (String) -> HostileServer.Answer?)?>(nil)
            server = try await HostileServer { path in
                if let answer = hostile.withLock({ $0 })?(path) { return answer }
                return Endpoint(rawValue: path).map { .json(Self.body(of: $0, issuer: issuer.withLock { $0 })) }
                    ?? HostileServer.Answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", closes: false)
            }
            issuer.withLock { $0 = "http://127.0.0.1:\(server.port)" }
            hostile.withLock { current in
                current = { [weak self] path in
                    self?.hostile.withLock { $0 }.flatMap { $0.endpoint.rawValue == path ? $0.answer : nil }
                }
            }
        }

        static func body(of endpoint: Endpoint, issuer: String) -> String {
            switch endpoint {
            case .discovery:
                """
                {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/auth","token_endpoint":"\(issuer)/token",\
                "jwks_uri":"\(issuer)/keys","userinfo_endpoint":"\(issuer)/userinfo",\
                "pushed_authorization_request_endpoint":"\(issuer)/par","require_pushed_authorization_requests":true,\
                "device_authorization_endpoint":"\(issuer)/device","dpop_signing_alg_values_supported":["ES256"]}
                """
            case .keys: #"{"keys":[{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ","kid":"k"}]}"#
            case .token: #"{"access_token":"A","token_type":"Bearer","expires_in":60,"refresh_token":"R"}"#
            case .userinfo: #"{"sub":"alice","email":"alice@id.example","name":"Alice"}"#
            case .push: #"{"request_uri":"urn:x","expires_in":90}"#
            case .device:
                #"{"device_code":"D","user_code":"U","verification_uri":"\#(issuer)","expires_in":1,"interval":1}"#
            }
        }

        /// Makes the request that goes to an endpoint.
        func call(_ endpoint: Endpoint, through transport: any HTTPTransport) async throws {
            let client = OpenIDProvider(issuer: issuer, clientID: "c", transport: transport)
            switch endpoint {
            case .discovery: _ = try await client.metadata()
            case .keys: await client.warmUp()
            case .token: _ = try await client.refresh("R", subject: "alice", dpopKey: nil) { _, _ in }
            case .userinfo: _ = try await client.userinfo(accessToken: "A", subject: "alice")
            case .push:
                _ = try await client.authorizationRequest(redirectURI: "http://127.0.0.1/callback", scopes: ["openid"])
            case .device: _ = try await client.authorizeDevice(scopes: ["openid"])
            }
        }
    }

    /// The test does not wait long for the rest of an answer that never comes.
    private struct HastyTransport: HTTPTransport {
        let base = AsyncHTTPTransport()

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            var limits = limits
            limits.exchange = .milliseconds(100)
            return try await base.send(request, body: body, limits: limits)
        }
    }

    private static func number(_ name: String, else standard: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? standard
    }

    private func note(_ text: String, lane: UInt64 = 0) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "hostile-answer-\(lane)")
        try Data(text.utf8).write(to: file)
    }

    @Test(arguments: Provider.Endpoint.allCases)
    private func `when a status is below 200, then an error results`(endpoint: Provider.Endpoint) async throws {
        let provider = try await Provider()
        let transport = AsyncHTTPTransport()
        let body = "Content-Length: 2\r\n\r\n{}"
        for status in ["000", "001", "042", "099", "101"] {
            provider.hostile.withLock { $0 = (endpoint, .init("HTTP/1.1 \(status) X\r\n\(body)", closes: false)) }
            let error = await caught { try await provider.call(endpoint, through: transport) }
            // Fetching keys in advance reports no errors.
            #expect(error?.code == (endpoint == .keys ? nil : .interrupted), "\(status)")
        }
        provider.hostile.withLock { $0 = nil }
        let error = await caught { try await provider.call(endpoint, through: transport) }
        #expect(error == nil)
    }

    @Test(
        arguments: [
            (1, nil), (16, nil), (17, OpenIDConnectError.Code.interrupted), (100_000, .interrupted),
        ])
    func `when more than 16 informational answers come, then reading stops`(
        count: Int, code: OpenIDConnectError.Code?
    ) async throws {
        let provider = try await Provider()
        let right = HostileServer.Answer.json(Provider.body(of: .discovery, issuer: provider.issuer))
        let flood = Array(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: count).utf8)
        provider.hostile.withLock { $0 = (.discovery, .init([flood] + right.pieces, closes: false)) }
        #expect(await errorCode { try await provider.call(.discovery, through: AsyncHTTPTransport()) } == code)
    }

    @Test(arguments: [true, false])
    func `when an unrequested answer comes, then the process survives`(isBefore: Bool) async throws {
        let answer = HostileServer.Answer.json("{}")
        let server = try await HostileServer(greeting: isBefore ? answer : nil) { _ in
            .init((answer.pieces + answer.pieces), closes: false)
        }
        let transport = AsyncHTTPTransport()
        for _ in 0..<20 {
            let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
            // Either answer may arrive first.
            _ = try? await transport.send(request, body: [], limits: HTTPLimits())
        }
    }

    /// Each lane has its own server and every fourth case, because many cases only wait for the rest of an answer.
    @Test(.timeLimit(.minutes(10)))
    func `when thousands of answers are wrong, then the process survives`() async throws {
        let lanes: UInt64 = 4
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    try await generated(
                        stride(from: lane, to: Self.number("HOSTILE_CASES", else: 3000), by: Int(lanes)), lane: lane)
                }
            }
            try await group.waitForAll()
        }
    }

    private func generated(_ cases: StrideTo<UInt64>, lane: UInt64) async throws {
        let provider = try await Provider()
        let transport = HastyTransport()
        let seed = Self.number("HOSTILE_SEED", else: 9)
        for number in cases {
            var answers = HostileAnswers(seed: seed &* 1_000_003 &+ number)
            let endpoint = Provider.Endpoint.allCases[Int(number) % Provider.Endpoint.allCases.count]
            let answer = answers.answer(for: Provider.body(of: endpoint, issuer: provider.issuer))
            let text =
                "seed \(seed) case \(number) \(endpoint): \(answer.pieces.map { String(decoding: $0, as: UTF8.self) })"
            try note(text, lane: lane)
            provider.hostile.withLock { $0 = (endpoint, answer) }
            do {
                try await provider.call(endpoint, through: transport)
            } catch {
                #expect(error is OpenIDConnectError, "\(text): \(error)")
            }
        }
        provider.hostile.withLock { $0 = nil }
        try await provider.call(.userinfo, through: AsyncHTTPTransport())
    }

    @Test(.timeLimit(.minutes(10)))
    func `when the handshake is no TLS, then the connection fails`() async throws {
        let seed = Self.number("HOSTILE_SEED", else: 9)
        let transport = HastyTransport()
        for number in 0..<Self.number("HOSTILE_CASES", else: 3000) / 20 {
            var answers = HostileAnswers(seed: seed &* 1_000_003 &+ number)
            let bytes = answers.noise()
            try note("seed \(seed) TLS case \(number): \(bytes)")
            let server = try await HostileServer(greeting: .init([bytes])) { _ in .init("") }
            let request = HTTPRequest(method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/")
            await #expect(throws: HTTPError.self, "seed \(seed) case \(number)") {
                try await transport.send(request, body: [], limits: HTTPLimits())
            }
        }
    }
}
