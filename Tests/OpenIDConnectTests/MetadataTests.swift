import Foundation
import HTTPTypes
import TestSupport
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
        arguments: [
            (nil, 3600), ("max-age=600", 600), ("public, Max-Age=600", 600), ("max-age=\"600\"", 600),
            ("max-age=1", 60), ("max-age=0", 60), ("no-store", 60), ("max-age=600, no-cache", 60),
            ("max-age=999999999", 86_400), ("max-age=soon", 3600), ("max-age=-5", 60), ("max-age=nan", 3600),
        ] as [(String?, TimeInterval)])
    func `when the lifetime ends, then the metadata is fetched again`(
        cacheControl: String?, seconds: TimeInterval
    ) async throws {
        try publish(cacheControl: cacheControl)
        let transport = provider.transport()
        let client = provider.client(transport)
        _ = try await client.metadata()
        provider.clock.advance(by: seconds - 1)
        _ = try await client.metadata()
        #expect(transport.count(of: Self.openID) == 1)
        try publish(["token_endpoint": "https://id.example/new"])
        provider.clock.advance(by: 1)
        #expect(try await client.metadata().tokenEndpoint == "https://id.example/new")
        #expect(transport.count(of: Self.openID) == 2)
    }

    @Test(arguments: [HTTPAnswer.text("", status: 503), .text("<html>log in to this network</html>")])
    func `when renewal fails, then old metadata serves for a day`(answer: HTTPAnswer) async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        _ = try await client.metadata()
        provider.set { $0.routes[Self.openID] = { _ in answer } }
        provider.clock.advance(by: 3600)
        for _ in 0..<3 { #expect(try await client.metadata().issuer == TestProvider.issuer) }
        #expect(transport.count(of: Self.openID) == 2)
        provider.clock.advance(by: 60)
        _ = try await client.metadata()
        #expect(transport.count(of: Self.openID) == 3)
        provider.clock.advance(by: 86_400 - 3660)
        #expect(await errorCode { _ = try await client.metadata() } != nil)
        provider.set { $0.routes[Self.openID] = nil }
        #expect(try await client.metadata().issuer == TestProvider.issuer)
    }

    @Test func `when the clock goes back, then metadata is fetched again`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        _ = try await client.metadata()
        provider.clock.advance(by: -1_000_000)
        _ = try await client.metadata()
        #expect(transport.count(of: Self.openID) == 2)
    }

    @Test(arguments: [404, 410])
    func `when discovery is absent, then the RFC 8414 document counts`(status: Int) async throws {
        provider.set { $0.routes[Self.openID] = { _ in .text("", status: status) } }
        try publish(at: Self.authorizationServer)
        let transport = provider.transport()
        let client = provider.client(transport)
        #expect(try await client.metadata().tokenEndpoint == "https://id.example/token")
        #expect(try await client.completeMetadata() == client.metadata())
        #expect(transport.requests.map(\.url) == [Self.openID, Self.authorizationServer])
    }

    @Test(arguments: ["https://id.example/realm/", "https://id.example"])
    func `when the RFC 8414 issuer differs, then discovery fails`(issuer: String) async throws {
        provider.set { $0.routes[Self.openID] = { _ in .text("", status: 404) } }
        try publish(at: Self.authorizationServer, ["issuer": issuer])
        #expect(await errorCode { _ = try await provider.client().metadata() } == .invalidAnswer)
    }

    @Test func `when both documents are missing, then the error says so`() async {
        let transport = ScriptedTransport { _ in .text("", status: 404) }
        let error = await caught { _ = try await provider.client(transport).metadata() }
        #expect(error?.code == .invalidAnswer)
        #expect(error?.status == 404)
        #expect(transport.requests.count == 2)
    }

    @Test(
        arguments: [
            ("https://id.example", "https://id.example/.well-known/oauth-authorization-server"),
            ("https://id.example/", "https://id.example/.well-known/oauth-authorization-server"),
            ("https://id.example:8443/a/b", "https://id.example:8443/.well-known/oauth-authorization-server/a/b"),
            ("https://id.example/a/b/", "https://id.example/.well-known/oauth-authorization-server/a/b"),
            ("http://[::1]:80/a", "http://[::1]:80/.well-known/oauth-authorization-server/a"),
        ])
    func `when an issuer has a path, then well-known precedes it`(issuer: String, url: String) {
        #expect(Discovery.authorizationServerURL(of: issuer) == url)
    }

    @Test func `when RFC 8414 metadata exists, then it only fills gaps`() async throws {
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
        arguments: [
            ["issuer": "https://evil.example"], ["issuer": "https://id.example/realm/"],
            ["registration_endpoint": "http://evil.example/register"],
        ])
    func `when RFC 8414 metadata is wrong, then it is omitted`(members: [String: String]) async throws {
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

    @Test func `when RFC 8414 metadata fails, then a later call retries`() async throws {
        provider.set { $0.routes[Self.authorizationServer] = { _ in .text("", status: 503) } }
        let transport = provider.transport()
        let client = provider.client(transport)
        for _ in 0..<3 { #expect(try await client.completeMetadata().registrationEndpoint == nil) }
        #expect(transport.count(of: Self.authorizationServer) == 1)
        try publish(at: Self.authorizationServer, ["registration_endpoint": "https://id.example/r"])
        provider.clock.advance(by: 60)
        #expect(try await client.completeMetadata().registrationEndpoint == "https://id.example/r")
    }

    @Test(arguments: [HTTPAnswer.text("", status: 503), .text("<html>log in to this network</html>"), .text("{}")])
    func `when RFC 8414 renewal fails, then old values serve on`(failure: HTTPAnswer) async throws {
        try publish(at: Self.authorizationServer, ["authorization_response_iss_parameter_supported": true])
        let transport = provider.transport()
        let client = provider.client(transport)
        func isComplete() async throws -> Bool {
            try await client.completeMetadata().authorizationResponseIssParameterSupported
        }
        #expect(try await isComplete())
        provider.set { $0.routes[Self.authorizationServer] = { _ in failure } }
        try publish(["token_endpoint": "https://id.example/new"])
        provider.clock.advance(by: 3600)
        for _ in 0..<3 { #expect(try await isComplete()) }
        // The result includes the news of the other document.
        #expect(try await client.completeMetadata().tokenEndpoint == "https://id.example/new")
        #expect(transport.count(of: Self.authorizationServer) == 2)
        // The client tries again, even after many failures.
        provider.clock.advance(by: 60)
        #expect(try await isComplete())
        #expect(transport.count(of: Self.authorizationServer) == 3)
        provider.clock.advance(by: 86_400 - 3660)
        #expect(try await !isComplete())
    }

    @Test(arguments: [404, 410])
    func `when RFC 8414 metadata is withdrawn, then its values disappear`(status: Int) async throws {
        try publish(at: Self.authorizationServer, ["authorization_response_iss_parameter_supported": true])
        let client = provider.client()
        #expect(try await client.completeMetadata().authorizationResponseIssParameterSupported)
        provider.set { $0.routes[Self.authorizationServer] = { _ in .text("", status: status) } }
        provider.clock.advance(by: 3600)
        #expect(try await !client.completeMetadata().authorizationResponseIssParameterSupported)
    }

    @Test func `when metadata changes mid-sign-in, then the old endpoint is used`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        provider.clock.advance(by: 7200)
        try publish(["token_endpoint": "https://id.example/new"])
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce)))
        #expect(try await client.redeem(request, callback: callback).idToken?.subject == "alice")
        #expect(transport.requests.first { $0.method == .post }?.url == "https://id.example/token")
    }

    @Test(
        arguments: [
            ("https://ID.example/a", "https://id.example"), ("https://id.example:443?x", "https://id.example"),
            ("https://id.example:8443/", "https://id.example:8443"), ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://127.0.0.1:443/", "http://127.0.0.1:443"), ("http://[::1]:8080/", "http://[::1]:8080"),
            ("https://id.example:/", "https://id.example"), ("https://id.example:1443", "https://id.example:1443"),
        ])
    func `when a URL is given, then its origin is normalized`(url: String, origin: String) {
        #expect(EndpointURL.origin(of: url) == origin)
    }

    @Test func `when tokens are refreshed, then RFC 8414 is not fetched`() async throws {
        try provider.answer()
        let transport = provider.transport()
        _ = try await provider.client(transport).refresh("R", subject: "alice")
        #expect(transport.requests.map(\.url) == [Self.openID, "https://id.example/token"])
    }

    @Test func `when no client ID exists, then calls needing one fail`() async throws {
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
