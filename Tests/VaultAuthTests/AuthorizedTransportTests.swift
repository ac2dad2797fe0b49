import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultBase
import VaultDevelopment
import VaultHTTP
import VaultTesting

/// Requests in the name of the person who is logged in.
@Suite struct AuthorizedTransportTests {
    private static let origin = "https://api.example.com"

    /// A resource server that accepts the test's tokens, and remembers the requests.
    private final class ResourceServer: HTTPTransport {
        struct Sent: Sendable {
            let url: String
            let authorization: String?
        }

        private let log = Lock<[Sent]>([])
        private let refused = Lock<Set<String>>([])
        private let gate: Gate?
        private let refusal: HTTPAnswer
        private let refusesAll: Bool

        init(
            gate: Gate? = nil, refusal: HTTPAnswer = HTTPAnswer(status: .unauthorized), refusesAll: Bool = false
        ) {
            self.gate = gate
            self.refusal = refusal
            self.refusesAll = refusesAll
        }

        var sent: [Sent] { log.withLock { $0 } }

        /// Refuses this token from now on.
        func refuse(_ token: String) { _ = refused.withLock { $0.insert("Bearer \(token)") } }

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            let authorization = request.headerFields[.authorization]
            log.withLock {
                $0.append(
                    Sent(
                        url: "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")",
                        authorization: authorization))
            }
            guard let authorization else { return HTTPAnswer(status: .ok) }
            let isRefused = refusesAll || refused.withLock { $0.contains(authorization) }
            if isRefused { await gate?.pass() }
            if isRefused { return refusal }
            return request.path == "/moved"
                ? HTTPAnswer(status: .found, headerFields: [.location: "https://elsewhere.example/"])
                : HTTPAnswer(status: .ok)
        }
    }

    /// Lets nobody pass until `count` requests have come.
    private actor Gate {
        private let count: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        private var watching: [CheckedContinuation<Void, Never>] = []

        init(count: Int) { self.count = count }

        /// Returns when somebody waits.
        func waitForFirst() async {
            guard waiting.isEmpty else { return }
            await withCheckedContinuation { watching.append($0) }
        }

        func pass() async {
            await withCheckedContinuation { continuation in
                waiting.append(continuation)
                for watcher in watching { watcher.resume() }
                watching = []
                guard waiting.count == count else { return }
                for waiter in waiting { waiter.resume() }
            }
        }
    }

    private func request(_ url: String, method: HTTPRequest.Method = .get) throws -> HTTPRequest {
        HTTPRequest(method: method, url: try #require(URL(string: url)))
    }

    @Test func `when a thousand requests meet 401, then one refresh happens`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let server = ResourceServer(gate: Gate(count: 1000))
            server.refuse(try await session.accessToken().value)
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            let items = try request(Self.origin + "/items")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1000 {
                    group.addTask { try await api.send(items, body: [], limits: HTTPLimits()).status.code }
                }
                return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [200: 1000])
            #expect(await fixture.refreshes.count == 1)
            // Each request was sent twice, the second time with the new token.
            #expect(server.sent.count == 2000)
            #expect(Set(server.sent.map(\.authorization)).count == 2)
        }
    }

    @Test func `when a token ends soon, then it is refreshed first`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let old = try await session.accessToken()
            let server = ResourceServer()
            let api = try fixture.vault.auth.authorizedTransport(
                for: [Self.origin], as: nil, leeway: .seconds(100), over: server)
            let end = try #require(old.expiresAt)
            fixture.clock.advance(by: end.timeIntervalSince(fixture.clock.now) - 99)
            _ = try await api.send(try request(Self.origin), body: [], limits: HTTPLimits())
            #expect(server.sent.map(\.authorization) != ["Bearer \(old.value)"])
            #expect(server.sent.count == 1)
            #expect(await fixture.refreshes.count == 1)
        }
    }

    @Test func `when a refreshed token is refused, then the request repeats`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let server = ResourceServer()
            server.refuse(try await session.accessToken().value)
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            // The server refuses the new token as well.
            let updates = fixture.vault.auth.sessionUpdates
            let watcher = Task {
                for await update in updates where update.event == .refreshed {
                    server.refuse(try await session.accessToken().value)
                    return
                }
            }
            _ = try await session.accessToken(forceRefresh: true)
            _ = try await watcher.value
            let answer = try await api.send(try request(Self.origin), body: [], limits: HTTPLimits())
            #expect(server.sent.count == 2)
            #expect(answer.status == .ok)
            #expect(throws: Never.self) { try answer.requireSuccess() }
        }
    }

    @Test func `when all tokens are refused, then requests are sent twice`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let server = ResourceServer(refusesAll: true)
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            let answer = try await api.send(try request(Self.origin), body: [], limits: HTTPLimits())
            #expect(answer.status == .unauthorized)
            #expect(server.sent.count == 2)
            #expect(Set(server.sent.map(\.authorization)).count == 2, "each time with another token")
            #expect(await fixture.refreshes.count == 1)
            #expect(fixture.vault.auth.isLoggedIn)
        }
    }

    @Test(arguments: [
        "https://api.example.com.evil.example/", "https://evil.example/", "http://api.example.com/",
        "https://api.example.com:444/", "https://API.example.com@evil.example/",
    ])
    func `when another origin is requested, then no token is sent`(url: String) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let server = ResourceServer()
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            _ = try await api.send(try request(url), body: [], limits: HTTPLimits())
            #expect(server.sent.map(\.authorization) == [nil])
        }
    }

    @Test(arguments: ["@evil.example/x", ".evil.example/x", ":8443/x", "x"])
    func `when paths change the host, then no token is sent`(path: String) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let server = ResourceServer()
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: path)
            _ = try await api.send(request, body: [], limits: HTTPLimits())
            #expect(server.sent.map(\.authorization) == [nil])
        }
    }

    @Test func `when the login changes, then no running request is repeated`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register("alice")
            let token = try await session.accessToken().value
            let gate = Gate(count: 2)
            let server = ResourceServer(gate: gate)
            server.refuse(token)
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            let order = try request(Self.origin + "/orders", method: .post)
            let sending = Task { await failure { _ = try await api.send(order, body: [], limits: HTTPLimits()) } }
            await gate.waitForFirst()
            try await fixture.register("bob")
            await gate.pass()
            #expect(await sending.value?.code == .notLoggedIn)
            #expect(server.sent.map(\.authorization) == ["Bearer \(token)"])
        }
    }

    @Test func `when a server redirects, then the redirect is not followed`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let server = ResourceServer()
            let api = try fixture.vault.auth.authorizedTransport(for: ["HTTPS://api.EXAMPLE.com:443/v1"], over: server)
            let answer = try await api.send(try request(Self.origin + "/moved"), body: [], limits: HTTPLimits())
            #expect(answer.status == .found)
            #expect(server.sent.count == 1)
            #expect(server.sent.first?.authorization?.hasPrefix("Bearer ") == true)
        }
    }

    @Test func `when refreshes fail, then only a refusal ends the login`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let server = ResourceServer()
            server.refuse(try await session.accessToken().value)
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            await fixture.provider.setFault(.status(429), times: 1)
            let outage = await failure {
                _ = try await api.send(try request(Self.origin), body: [], limits: HTTPLimits())
            }
            #expect(outage?.code == .identityProviderUnavailable)
            #expect(fixture.vault.auth.isLoggedIn)
            try await fixture.provider.revokeAllRefreshTokens()
            for _ in 0..<2 {
                let refused = await failure {
                    _ = try await api.send(try request(Self.origin), body: [], limits: HTTPLimits())
                }
                #expect(refused?.code == .refreshTokenExpired)
                #expect(!fixture.vault.auth.isLoggedIn)
            }
            // The second call sent no request for it.
            #expect(server.sent.count == 2)
        }
    }

    @Test func `when GraphQL answers UNAUTHENTICATED, then the token is refreshed`() async throws {
        let refusal = HTTPAnswer(
            status: .ok, headerFields: [.contentType: "application/graphql-response+json"],
            body: Array(#"{"errors":[{"message":"Who?","extensions":{"code":"UNAUTHENTICATED"}}],"data":null}"#.utf8))
        try await withFixture { fixture in
            let session = try await fixture.register()
            let server = ResourceServer(refusal: refusal)
            server.refuse(try await session.accessToken().value)
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            let query = try request(Self.origin + "/graphql", method: .post)
            #expect(try await api.send(query, body: Array("{}".utf8), limits: HTTPLimits()).body == [])
            #expect(server.sent.count == 2)
            #expect(await fixture.refreshes.count == 1)
        }
    }

    @Test func `when an origin is unsafe, then the transport is refused`() async throws {
        try await withFixture { fixture in
            for origin in ["http://api.example.com", "api.example.com", "", "https://me@api.example.com"] {
                #expect(throws: VaultError.self) {
                    _ = try fixture.vault.auth.authorizedTransport(for: [origin])
                }
            }
        }
    }

    @Test func `when no account is logged in, then nothing is sent`() async throws {
        try await withFixture { fixture in
            let server = ResourceServer()
            let api = try fixture.vault.auth.authorizedTransport(for: [Self.origin], over: server)
            let error = await failure {
                _ = try await api.send(try request(Self.origin), body: [], limits: HTTPLimits())
            }
            #expect(error?.code == .notLoggedIn)
            #expect(server.sent.isEmpty)
        }
    }
}

/// The server's description of an error becomes the error's message.
@Suite struct StatusErrorTests {
    private func answer(_ status: Int, _ body: String, type: String = "application/json") -> HTTPAnswer {
        HTTPAnswer(status: .init(code: status), headerFields: [.contentType: type], body: Array(body.utf8))
    }

    @Test(arguments: [
        (400, #"{"error":"No such item"}"#, "No such item"),
        (422, #"{"error":{"message":"Too long"}}"#, "Too long"),
        (400, #"{"error":"invalid_request","error_description":"No name"}"#, "No name"),
        (500, #"{"message":"Out of order"}"#, "Out of order"),
        (200, #"{"errors":[{"message":"No field x"}]}"#, "No field x"),
        (200, #"{"data":null,"errors":[{"message":"No field x"}]}"#, "No field x"),
        (404, "not JSON", nil), (404, #"{"error":7}"#, nil), (403, #"{"error":"a\u001b[31mb"}"#, "a[31mb"),
    ])
    func `when a response fails, then the error has its message`(status: Int, body: String, message: String?) throws {
        let error = #expect(throws: HTTPStatusError.self) { _ = try answer(status, body).requireSuccess() }
        #expect(error?.status == status)
        #expect(error?.message == message)
    }

    @Test(arguments: [
        (200, #"{"errors":[{"message":"partly"}],"data":{"a":1}}"#), (200, #"{"errors":[]}"#), (204, ""),
        (302, ""), (200, "no JSON"), (200, #"{"error":"just a word in an answer"}"#),
    ])
    func `when an answer is no error, then requireSuccess returns it`(status: Int, body: String) throws {
        #expect(try answer(status, body).requireSuccess().status.code == status)
    }

    @Test func `when an error is HTML, then its message is ignored`() throws {
        let html = #expect(throws: HTTPStatusError.self) {
            _ = try answer(500, #"{"error":"x"}"#, type: "text/html").requireSuccess()
        }
        #expect(html?.message == nil)
        let long = #expect(throws: HTTPStatusError.self) {
            _ = try answer(500, #"{"error":"\#(String(repeating: "x", count: 1000))"}"#).requireSuccess()
        }
        #expect(long?.message?.count == 200)
    }
}
