import Foundation
import HTTPTypes
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("Metadata: where it lies and how long it is kept")
struct MetadataTests {
    static let openID = "https://id.example/realm/.well-known/openid-configuration"
    static let authorizationServer = "https://id.example/.well-known/oauth-authorization-server/realm"

    let provider = TestProvider()

    /// Lets the provider give its metadata at `url`, with `members` changed and a lifetime.
    private func publish(
        at url: String = openID, _ members: [String: (any Sendable)?] = [:], cacheControl: String? = nil
    ) throws {
        var document = provider.state.withLock { $0.metadata }
        for (name, value) in members { document[name] = value }
        let text = try json(document)
        provider.set {
            $0.routes[url] = { _ in
                var answer = HTTPAnswer.text(text)
                answer.headerFields[.cacheControl] = cacheControl
                return answer
            }
        }
    }

    /// The fields are the value of `Cache-Control`, and the seconds until the document is fetched again.
    @Test(
        "the metadata is asked for again when its lifetime is over",
        arguments: [
            (nil, 3600), ("max-age=600", 600), ("public, Max-Age=600", 600), ("max-age=\"600\"", 600),
            ("max-age=1", 60), ("max-age=0", 60), ("no-store", 60), ("max-age=600, no-cache", 60),
            ("max-age=999999999", 86_400), ("max-age=soon", 3600), ("max-age=-5", 60), ("max-age=nan", 3600),
        ] as [(String?, TimeInterval)])
    func lifetime(cacheControl: String?, seconds: TimeInterval) async throws {
        try publish(cacheControl: cacheControl)
        let transport = provider.transport()
        let client = provider.client(transport)
        _ = try await client.metadata()
        provider.clock.advance(seconds - 1)
        _ = try await client.metadata()
        #expect(transport.count(of: Self.openID) == 1)
        try publish(["token_endpoint": "https://id.example/new"])
        provider.clock.advance(1)
        #expect(try await client.metadata().tokenEndpoint == "https://id.example/new")
        #expect(transport.count(of: Self.openID) == 2)
    }

    @Test(
        "metadata that cannot be renewed serves on for a day, and is not asked for at every call",
        arguments: [HTTPAnswer.text("", status: 503), .text("<html>log in to this network</html>")])
    func renewalFails(answer: HTTPAnswer) async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        _ = try await client.metadata()
        provider.set { $0.routes[Self.openID] = { _ in answer } }
        provider.clock.advance(3600)
        for _ in 0..<3 { #expect(try await client.metadata().issuer == TestProvider.issuer) }
        #expect(transport.count(of: Self.openID) == 2)
        provider.clock.advance(60)
        _ = try await client.metadata()
        #expect(transport.count(of: Self.openID) == 3)
        provider.clock.advance(86_400 - 3660)
        #expect(await errorCode { _ = try await client.metadata() } != nil)
        provider.set { $0.routes[Self.openID] = nil }
        #expect(try await client.metadata().issuer == TestProvider.issuer)
    }

    @Test("a clock that is put back does not make the metadata last longer")
    func clockPutBack() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        _ = try await client.metadata()
        provider.clock.advance(-1_000_000)
        _ = try await client.metadata()
        #expect(transport.count(of: Self.openID) == 2)
    }

    @Test("where there is no discovery document, the RFC 8414 document counts", arguments: [404, 410])
    func authorizationServerMetadata(status: Int) async throws {
        provider.set { $0.routes[Self.openID] = { _ in .text("", status: status) } }
        try publish(at: Self.authorizationServer)
        let transport = provider.transport()
        let client = provider.client(transport)
        #expect(try await client.metadata().tokenEndpoint == "https://id.example/token")
        #expect(try await client.completeMetadata() == client.metadata())
        #expect(transport.requests.map(\.url) == [Self.openID, Self.authorizationServer])
    }

    @Test("it has to name the same issuer", arguments: ["https://id.example/realm/", "https://id.example"])
    func authorizationServerMismatch(issuer: String) async throws {
        provider.set { $0.routes[Self.openID] = { _ in .text("", status: 404) } }
        try publish(at: Self.authorizationServer, ["issuer": issuer])
        #expect(await errorCode { _ = try await provider.client().metadata() } == .invalidAnswer)
    }

    @Test("neither document is an error that says so")
    func neither() async {
        let transport = ScriptedTransport { _ in .text("", status: 404) }
        let error = await caught { _ = try await provider.client(transport).metadata() }
        #expect(error?.code == .invalidAnswer)
        #expect(error?.status == 404)
        #expect(transport.requests.count == 2)
    }

    @Test(
        "the path of RFC 8414 stands before the issuer's",
        arguments: [
            ("https://id.example", "https://id.example/.well-known/oauth-authorization-server"),
            ("https://id.example/", "https://id.example/.well-known/oauth-authorization-server"),
            ("https://id.example:8443/a/b", "https://id.example:8443/.well-known/oauth-authorization-server/a/b"),
            ("https://id.example/a/b/", "https://id.example/.well-known/oauth-authorization-server/a/b"),
            ("http://[::1]:80/a", "http://[::1]:80/.well-known/oauth-authorization-server/a"),
        ])
    func path(issuer: String, url: String) {
        #expect(Discovery.authorizationServerURL(of: issuer) == url)
    }

    @Test("the RFC 8414 document adds what the discovery document leaves out, and changes nothing of it")
    func complete() async throws {
        provider.set { $0.metadata["revocation_endpoint"] = nil }
        try publish(
            at: Self.authorizationServer,
            [
                "revocation_endpoint": "https://id.example/other-revoke", "token_endpoint": "https://id.example/other",
                "registration_endpoint": "https://id.example/register",
                "authorization_response_iss_parameter_supported": true,
            ])
        let transport = provider.transport()
        let client = provider.client(transport)
        let metadata = try await client.completeMetadata()
        #expect(metadata.tokenEndpoint == "https://id.example/token")
        #expect(metadata.revocationEndpoint == "https://id.example/other-revoke")
        #expect(metadata.registrationEndpoint == "https://id.example/register")
        #expect(metadata.authorizationResponseIssParameterSupported)
        #expect(try await client.metadata().registrationEndpoint == nil)
        _ = try await client.completeMetadata()
        #expect(transport.requests.count == 2)
    }

    @Test(
        "an RFC 8414 document that cannot be right is left out",
        arguments: [
            ["issuer": "https://evil.example"], ["issuer": "https://id.example/realm/"],
            ["registration_endpoint": "http://evil.example/register"],
        ])
    func foreign(members: [String: String]) async throws {
        try publish(at: Self.authorizationServer, ["registration_endpoint": "https://id.example/r"])
        let transport = provider.transport()
        try publish(
            at: Self.authorizationServer,
            ["registration_endpoint": "https://id.example/r"].merging(members) { $1 })
        let client = provider.client(transport)
        #expect(try await client.completeMetadata().registrationEndpoint == nil)
        _ = try await client.completeMetadata()
        #expect(transport.count(of: Self.authorizationServer) == 1)
    }

    @Test("an RFC 8414 document that cannot be had is done without, and tried again later")
    func unavailable() async throws {
        provider.set { $0.routes[Self.authorizationServer] = { _ in .text("", status: 503) } }
        let transport = provider.transport()
        let client = provider.client(transport)
        for _ in 0..<3 { #expect(try await client.completeMetadata().registrationEndpoint == nil) }
        #expect(transport.count(of: Self.authorizationServer) == 1)
        try publish(at: Self.authorizationServer, ["registration_endpoint": "https://id.example/r"])
        provider.clock.advance(60)
        #expect(try await client.completeMetadata().registrationEndpoint == "https://id.example/r")
    }

    @Test(
        "an RFC 8414 document that was there serves on while it cannot be renewed, up to a day",
        arguments: [HTTPAnswer.text("", status: 503), .text("<html>log in to this network</html>"), .text("{}")])
    func completeServesOn(failure: HTTPAnswer) async throws {
        try publish(at: Self.authorizationServer, ["authorization_response_iss_parameter_supported": true])
        let transport = provider.transport()
        let client = provider.client(transport)
        func isComplete() async throws -> Bool {
            try await client.completeMetadata().authorizationResponseIssParameterSupported
        }
        #expect(try await isComplete())
        provider.set { $0.routes[Self.authorizationServer] = { _ in failure } }
        try publish(["token_endpoint": "https://id.example/new"])
        provider.clock.advance(3600)
        for _ in 0..<3 { #expect(try await isComplete()) }
        // The result includes the news of the other document.
        #expect(try await client.completeMetadata().tokenEndpoint == "https://id.example/new")
        #expect(transport.count(of: Self.authorizationServer) == 2)
        // The client tries again, even after many failures.
        provider.clock.advance(60)
        #expect(try await isComplete())
        #expect(transport.count(of: Self.authorizationServer) == 3)
        provider.clock.advance(86_400 - 3660)
        #expect(try await !isComplete())
    }

    @Test("an RFC 8414 document that was taken away is gone", arguments: [404, 410])
    func completeIsWithdrawn(status: Int) async throws {
        try publish(at: Self.authorizationServer, ["authorization_response_iss_parameter_supported": true])
        let client = provider.client()
        #expect(try await client.completeMetadata().authorizationResponseIssParameterSupported)
        provider.set { $0.routes[Self.authorizationServer] = { _ in .text("", status: status) } }
        provider.clock.advance(3600)
        #expect(try await !client.completeMetadata().authorizationResponseIssParameterSupported)
    }

    @Test("a sign-in ends where it started, however long the person takes")
    func oneSignIn() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        provider.clock.advance(7200)
        try publish(["token_endpoint": "https://id.example/new"])
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce)))
        #expect(try await client.redeem(request, callback: callback).idToken?.subject == "alice")
        #expect(transport.requests.first { $0.method == .post }?.url == "https://id.example/token")
    }

    @Test(
        "an origin is scheme, host and port",
        arguments: [
            ("https://ID.example/a", "https://id.example"), ("https://id.example:443?x", "https://id.example"),
            ("https://id.example:8443/", "https://id.example:8443"), ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://127.0.0.1:443/", "http://127.0.0.1:443"), ("http://[::1]:8080/", "http://[::1]:8080"),
            ("https://id.example:/", "https://id.example"), ("https://id.example:1443", "https://id.example:1443"),
        ])
    func origin(url: String, origin: String) {
        #expect(EndpointURL.origin(of: url) == origin)
    }

    @Test("a refresh does without the second document")
    func refreshIsShort() async throws {
        try provider.answer()
        let transport = provider.transport()
        _ = try await provider.client(transport).refresh("R", subject: "alice")
        #expect(transport.requests.map(\.url) == [Self.openID, "https://id.example/token"])
    }

    @Test("without a client ID nothing is asked that needs one")
    func noClient() async throws {
        let transport = provider.transport()
        let client = OpenIDProvider(
            issuer: TestProvider.issuer, clientID: "", transport: transport, clock: provider.clock)
        #expect(try await client.metadata().issuer == TestProvider.issuer)
        let codes = [
            await errorCode { _ = try await client.refresh("R", subject: "alice") },
            await errorCode { try await client.revoke("R", hint: "refresh_token") },
            await errorCode {
                _ = try await client.authorizationRequest(
                    redirectURI: TestProvider.redirectURI, scopes: ["openid"])
            },
        ]
        #expect(codes == Array(repeating: .configurationInvalid, count: 3))
        #expect(transport.requests.allSatisfy { $0.method == .get })
    }
}
