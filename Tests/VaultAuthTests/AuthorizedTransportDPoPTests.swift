import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultBase

@testable import VaultDevelopment

/// Requests with tokens that are bound to a key.
@Suite struct AuthorizedTransportDPoPTests {
    private static let origin = "https://api.example.com"

    /// A resource server that gives the test's answers, and remembers the proofs.
    private final class ResourceServer: HTTPTransport {
        private let log = Lock<[HTTPRequest]>([])
        private let answer: @Sendable (_ number: Int) -> HTTPAnswer

        init(_ answer: @escaping @Sendable (_ number: Int) -> HTTPAnswer) { self.answer = answer }

        var sent: [HTTPRequest] { log.withLock { $0 } }

        /// The claims of the proofs, one for each request.
        var proofs: [[String: String]] {
            sent.map { request in
                let proof = request.headerFields[HTTPField.Name("DPoP")!] ?? ""
                let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
                guard parts.count == 3 else { return [:] }
                var text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
                text += String(repeating: "=", count: (4 - text.count % 4) % 4)
                let object = try? JSONSerialization.jsonObject(with: Data(base64Encoded: String(text)) ?? Data())
                return (object as? [String: Any] ?? [:]).mapValues { "\($0)" }
            }
        }

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            let number = log.withLock { log in
                log.append(request)
                return log.count
            }
            return answer(number)
        }
    }

    private static func refusal(_ challenge: String, nonce: String?, status: Int = 401) -> HTTPAnswer {
        var fields: HTTPFields = [.wwwAuthenticate: challenge]
        if let nonce { fields[HTTPField.Name("DPoP-Nonce")!] = nonce }
        return HTTPAnswer(status: .init(code: status), headerFields: fields)
    }

    private func withBoundToken(_ body: (Fixture, Session) async throws -> Void) async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.dpop = .offered
        try await withFixture(options: options) { fixture in
            try await body(fixture, fixture.register())
        }
    }

    private func send(_ fixture: Fixture, _ api: any HTTPTransport, _ path: String = "/items") async throws
        -> HTTPAnswer
    {
        let url = try #require(URL(string: Self.origin + path))
        return try await api.send(HTTPRequest(method: .post, url: url), body: [1], limits: HTTPLimits())
    }

    @Test func `when tokens are bound, then each proof names its request`() async throws {
        try await withBoundToken { fixture, session in
            let server = ResourceServer { _ in HTTPAnswer(status: .ok) }
            let api = try session.authorizedTransport(for: [Self.origin], over: server)
            let token = try await session.accessToken().value
            _ = try await send(fixture, api, "/items?x=1")
            let proof = try #require(server.proofs.first)
            #expect(proof["htu"] == Self.origin + "/items" && proof["htm"] == "POST")
            // The SHA-256 of the access token (RFC 9449 section 4.2).
            #expect(proof["ath"] == Base64URL.encode(digest(token)))
            #expect(proof["nonce"] == nil)
            #expect(server.sent[0].headerFields[.authorization] == "DPoP \(token)")
        }
    }

    @Test(arguments: [
        (#"DPoP error="use_dpop_nonce""#, "n-1"),
        (#"Bearer error="invalid_token", dpop algs="ES256", error="use_dpop_nonce""#, "~"),
    ])
    func `when a nonce is demanded, then the proof has it`(
        challenge: String, nonce: String
    ) async throws {
        try await withBoundToken { fixture, session in
            let server = ResourceServer { number in
                number == 1 ? Self.refusal(challenge, nonce: nonce) : HTTPAnswer(status: .ok)
            }
            let api = try session.authorizedTransport(for: [Self.origin], over: server)
            #expect(try await send(fixture, api).status == .ok)
            #expect(server.proofs.map { $0["nonce"] } == [nil, nonce])
            #expect(Set(server.proofs.map { $0["jti"] }).count == 2)
            // The next request has the nonce from the start.
            _ = try await send(fixture, api)
            #expect(server.proofs.last?["nonce"] == nonce && server.sent.count == 3)
            #expect(await fixture.refreshes.isEmpty)
        }
    }

    /// An answer that an earlier version took for a demand of a nonce.
    @Test(arguments: [
        (#"Bearer error="use_dpop_nonce""#, "n-1", 401), (#"DPoP realm="error=use_dpop_nonce""#, "n-1", 401),
        (#"DPoP error="invalid_token", error_description="use_dpop_nonce""#, "n-1", 401),
        (#"DPoP error="use_dpop_nonce""#, #"a"b"#, 401), (#"DPoP error="use_dpop_nonce""#, #"a\b"#, 401),
        (#"DPoP error="use_dpop_nonce""#, String(repeating: "n", count: 1025), 401),
        (#"DPoP error="use_dpop_nonce""#, "a b", 401), (#"DPoP error="use_dpop_nonce""#, "n-1", 403),
    ])
    func `when no valid nonce comes, then no token is resent`(
        challenge: String, nonce: String, status: Int
    ) async throws {
        try await withBoundToken { fixture, session in
            let server = ResourceServer { _ in Self.refusal(challenge, nonce: nonce, status: status) }
            let api = try session.authorizedTransport(for: [Self.origin], over: server)
            _ = try await send(fixture, api)
            let tokens = server.sent.map { $0.headerFields[.authorization] }
            #expect(tokens.count == Set(tokens).count)
            let isNonce = (1...1024).contains(nonce.count) && !nonce.contains(where: { "\"\\ ".contains($0) })
            #expect(isNonce || server.proofs.allSatisfy { $0["nonce"] == nil })
        }
    }

    @Test func `when nonces are always demanded, then tokens are sent twice`() async throws {
        try await withBoundToken { fixture, session in
            let server = ResourceServer { Self.refusal(#"DPoP error="use_dpop_nonce""#, nonce: "n\($0)") }
            let api = try session.authorizedTransport(for: [Self.origin], over: server)
            #expect(try await send(fixture, api).status == .unauthorized)
            #expect(server.proofs.map { $0["nonce"] } == [nil, "n1", "n2", "n3"])
            #expect(Set(server.sent.map { $0.headerFields[.authorization] }).count == 2)
        }
    }

    @Test func `when one origin sets a nonce, then another gets none`() async throws {
        try await withBoundToken { fixture, session in
            let server = ResourceServer { number in
                number == 1 ? Self.refusal(#"DPoP error="use_dpop_nonce""#, nonce: "n") : HTTPAnswer(status: .ok)
            }
            let other = "https://api.example.com:8443"
            let api = try session.authorizedTransport(for: [Self.origin, other], over: server)
            _ = try await send(fixture, api)
            let url = try #require(URL(string: other))
            _ = try await api.send(HTTPRequest(method: .get, url: url), body: [], limits: HTTPLimits())
            #expect(server.proofs.map { $0["nonce"] } == [nil, "n", nil])
        }
    }
}
