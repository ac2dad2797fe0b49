import HTTPTypes
import TestSupport
import Testing
import VaultHTTP

@testable import OpenIDConnect

@Suite("Discovery")
struct DiscoveryTests {
    static let wellKnown = "https://id.example/realm/.well-known/openid-configuration"

    @Test func `when the provider publishes metadata, then the client reads it`() async throws {
        let provider = TestProvider()
        provider.set { $0.metadata["authorization_response_iss_parameter_supported"] = true }
        let metadata = try await provider.client().metadata()
        #expect(metadata.tokenEndpoint == "https://id.example/token")
        #expect(metadata.revocationEndpoint == "https://id.example/revoke")
        #expect(metadata.userinfoEndpoint == nil)
        #expect(metadata.authorizationResponseIssParameterSupported)
    }

    @Test func `when 100 callers ask at once, then one request suffices`() async throws {
        let provider = TestProvider()
        // The answer is held back until all callers have asked. Later callers would find the document in the cache.
        let crowd = Crowd(100)
        provider.set { $0.gate = { await crowd.wait() } }
        let transport = provider.transport()
        let client = provider.client(transport)
        try await withThrowingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    crowd.come()
                    _ = try await client.metadata()
                }
            }
            try await group.waitForAll()
        }
        _ = try await client.metadata()
        #expect(transport.count(of: Self.wellKnown) == 1)
    }

    @Test func `when one caller cancels, then the others get their answer`() async throws {
        let provider = TestProvider()
        let (started, open) = (Gate(), Gate())
        provider.set { state in
            state.gate = {
                started.open()
                await open.wait()
            }
        }
        let transport = provider.transport()
        let client = provider.client(transport)
        let first = Task { try await client.metadata() }
        await started.wait()
        let second = Task { try await client.metadata() }
        first.cancel()
        // The answer is still held back, so only its cancellation can have ended the first caller.
        #expect(await errorCode { _ = try await first.value } == .cancelled)
        open.open()
        #expect(try await second.value.issuer == TestProvider.issuer)
        #expect(transport.count(of: Self.wellKnown) == 1)
    }

    @Test func `when discovery fails, then the failure is not cached`() async throws {
        let provider = TestProvider()
        provider.set { $0.gate = { throw HTTPError(.interrupted, authority: "id.example") } }
        let client = provider.client()
        let error = await caught { _ = try await client.metadata() }
        #expect(error?.code == .interrupted)
        #expect(error?.mayHaveBeenProcessed == false)
        provider.set { $0.gate = {} }
        #expect(try await client.metadata().issuer == TestProvider.issuer)
    }

    @Test(
        arguments: [
            "https://id.example/realm/", "https://id.example/REALM", "https://evil.example/realm", "",
        ])
    func `when the metadata names another issuer, then discovery fails`(named: String) async {
        let provider = TestProvider()
        provider.set { $0.metadata["issuer"] = named }
        #expect(await errorCode { _ = try await provider.client().metadata() } == .invalidAnswer)
    }

    @Test func `when the issuer ends with a slash, then discovery works`() async throws {
        let provider = TestProvider()
        provider.set { $0.metadata["issuer"] = "https://id.example/realm/" }
        let client = OpenIDProvider(
            issuer: "https://id.example/realm/", clientID: "c", transport: provider.transport(), clock: provider.clock)
        #expect(try await client.metadata().issuer == "https://id.example/realm/")
    }

    @Test(
        arguments: [
            ("https://x.example/t", true), ("http://127.0.0.1:80/t", false), ("http://[::1]/t", false),
            ("http://localhost:1/t", false), ("http://x.example/t", false), ("http://127.0.0.1.x.example/t", false),
            ("http://127.0.0.1@x.example/t", false), ("ftp://x.example/t", false), ("/token", false),
            ("https:///t", false),
            ("https://x.example/t#f", false), ("https://user:pw@x.example/t", false), ("https://x.example/a b", false),
        ])
    func `when the issuer is https, then endpoints must be https`(url: String, isAllowed: Bool) async {
        let provider = TestProvider()
        provider.set { $0.metadata["token_endpoint"] = url }
        let code = await errorCode { _ = try await provider.client().metadata() }
        #expect(code == (isAllowed ? nil : .invalidAnswer))
    }

    @Test(arguments: [("http://127.0.0.1:80/t", true), ("https://x.example/t", true), ("http://x.example/t", false)])
    func `when the issuer is local, then endpoints may be local`(url: String, isAllowed: Bool) async {
        let issuer = "http://127.0.0.1:8080"
        let transport = ScriptedTransport { _ in
            .text(
                try json([
                    "issuer": issuer, "authorization_endpoint": issuer, "token_endpoint": url, "jwks_uri": issuer,
                ]))
        }
        let client = OpenIDProvider(issuer: issuer, clientID: "c", transport: transport)
        let code = await errorCode { _ = try await client.metadata() }
        #expect(code == (isAllowed ? nil : .invalidAnswer))
    }

    @Test(
        arguments: [
            "revocation_endpoint", "userinfo_endpoint", "end_session_endpoint", "device_authorization_endpoint",
            "registration_endpoint", "pushed_authorization_request_endpoint",
        ],
        [
            "file:///etc/passwd", "javascript:alert(1)", "http://127.0.0.1:1/x", "http://x.example/", "/x", "", 7,
            ["https://x.example/"],
        ] as [any Sendable])
    func `when an optional endpoint is bad, then it is omitted`(member: String, value: any Sendable) async throws {
        let provider = TestProvider()
        provider.set { $0.metadata["revocation_endpoint"] = nil }
        provider.set { $0.metadata[member] = value }
        let metadata = try await provider.client().completeMetadata()
        let optional = [
            metadata.revocationEndpoint, metadata.userinfoEndpoint, metadata.endSessionEndpoint,
            metadata.deviceAuthorizationEndpoint, metadata.registrationEndpoint,
            metadata.pushedAuthorizationRequestEndpoint,
        ]
        #expect(optional.allSatisfy { $0 == nil })
        try provider.answer()
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce)))
        #expect(try await client.redeem(request, callback: callback).idToken?.subject == "alice")
    }

    @Test(arguments: ["authorization_endpoint", "token_endpoint", "jwks_uri"])
    func `when a required endpoint is missing, then discovery fails`(member: String) async {
        let provider = TestProvider()
        provider.set { $0.metadata[member] = nil }
        #expect(await errorCode { _ = try await provider.client().metadata() } == .invalidAnswer)
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("<html>", status: 200), OpenIDConnectError.Code.invalidAnswer),
            (.text("[]", status: 200), .invalidAnswer), (.text("", status: 302), .invalidAnswer),
            (.text("<html>", status: 500), .unavailable),
            (.text("", status: 503), .unavailable), (.text("", status: 429), .unavailable),
        ])
    func `when the answer is unusable, then the error tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        let transport = ScriptedTransport { _ in answer }
        let client = TestProvider().client(transport)
        #expect(await errorCode { _ = try await client.metadata() } == code)
        // The client follows no redirect, and no 302 either.
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: ["http://id.example", "id.example", "", "https://id.example?x=1"])
    func `when the issuer is invalid, then no request is sent`(issuer: String) async {
        let transport = TestProvider().transport()
        let client = OpenIDProvider(issuer: issuer, clientID: "c", transport: transport, clock: ManualWallClock())
        #expect(await errorCode { _ = try await client.metadata() } == .configurationInvalid)
        #expect(transport.requests.isEmpty)
    }
}
