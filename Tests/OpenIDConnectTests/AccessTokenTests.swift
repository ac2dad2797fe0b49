import Foundation
import TestSupport
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// A server that gets access tokens: only these count, and no other token of the same provider.
@Suite("Access tokens at a server")
struct AccessTokenTests {
    private static let audience = "https://keys.example"

    let provider = TestProvider()

    /// The claims of an access token that is right. A change of nil removes a claim.
    private func claims(_ changes: [String: Any?] = [:]) -> [String: Any] {
        let now = provider.clock.now.timeIntervalSince1970
        var claims: [String: Any] = [
            "iss": TestProvider.issuer, "sub": "alice", "aud": Self.audience, "exp": now + 300, "iat": now,
            "scope": "openid",
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private func code(
        _ changes: [String: Any?] = [:], type: String = "JWT", audience: String? = audience
    ) async throws -> OpenIDConnectError.Code? {
        let token = try provider.key.token(claims(changes), header: ["typ": type])
        return await errorCode {
            let subject = try await provider.client().subject(ofAccessToken: token, audience: audience)
            #expect(subject == "alice")
        }
    }

    @Test func `when access tokens are marked differently, then all are accepted`() async throws {
        #expect(try await code(type: "at+jwt") == nil)
        #expect(try await code(["scope": nil], type: "application/at+jwt") == nil)
        #expect(try await code(type: "at+jwt", audience: nil) == nil)
        #expect(try await code() == nil)
        for (name, value) in [("scp", "user.read"), ("client_id", "app"), ("typ", "Bearer"), ("token_use", "access")] {
            #expect(try await code(["scope": nil, name: value]) == nil, "\(name)")
        }
        #expect(try await code(["aud": ["a", Self.audience]]) == nil)
    }

    @Test func `when a token is bound, then only its key counts`() async throws {
        func subject(_ claims: [String: Any?], _ thumbprint: String?) async throws -> OpenIDConnectError.Code? {
            let token = try provider.key.token(self.claims(claims), header: ["typ": "at+jwt"])
            return await errorCode {
                let facts = try await provider.client().facts(
                    ofAccessToken: token, audience: Self.audience, boundTo: thumbprint)
                #expect(facts.subject == "alice" && facts.authenticatedAt?.timeIntervalSince1970 == 1000)
            }
        }
        let bound: [String: Any?] = ["cnf": ["jkt": "x"], "auth_time": 1000]
        #expect(try await subject(bound, "x") == nil)
        #expect(try await subject(["auth_time": 1000], nil) == nil)
        #expect(try await subject(bound, "y") == .tokenInvalid)
        #expect(try await subject(bound, nil) == .tokenInvalid)
        #expect(try await subject(["auth_time": 1000], "x") == .tokenInvalid, "the token is not bound")
        for other in [["x5t#S256": "x"], ["jkt": "x", "x5t#S256": "y"], [:]] {
            #expect(try await subject(["cnf": other, "auth_time": 1000], "x") == .tokenInvalid, "\(other)")
        }
    }

    @Test func `when a signed token is unsuitable, then it is refused`() async throws {
        let changes: [[String: Any?]] = [
            ["scope": nil], ["nonce": "n"], ["at_hash": "h"], ["events": ["logout": [String: Any]()]],
            ["typ": "ID"], ["typ": "Refresh"], ["typ": "Logout"], ["token_use": "id"], ["aud": "other"], ["aud": nil],
            ["exp": 1], ["exp": nil], ["nbf": 4_000_000_000], ["iss": "https://evil.example"], ["sub": nil],
            ["sub": ""], ["cnf": ["jkt": "x"]],
        ]
        for change in changes { #expect(try await code(change) == .tokenInvalid, "\(change)") }
        for change in changes.dropFirst(4) {
            #expect(try await code(change, type: "at+jwt") == .tokenInvalid, "at+jwt \(change)")
        }
        #expect(try await code(audience: nil) == .tokenInvalid, "without an audience, only at+jwt counts")
        let other = try TestKey.es256().token(claims(), header: ["typ": "at+jwt"])
        #expect(
            await errorCode {
                _ = try await provider.client().subject(ofAccessToken: other, audience: Self.audience)
            } == .tokenInvalid)
    }

    @Test(
        arguments: [
            (#"{"active":true,"sub":"alice"}"#, nil), (#"{"active":true,"sub":"alice","token_type":"Bearer"}"#, nil),
            (#"{"active":false,"sub":"alice"}"#, .tokenInvalid), ("{}", .tokenInvalid),
            (#"{"active":true,"sub":"alice","token_type":"refresh_token"}"#, .tokenInvalid),
            (#"{"active":true,"sub":"alice","typ":"Refresh"}"#, .tokenInvalid),
            (#"{"active":true,"sub":"alice","typ":"ID"}"#, .tokenInvalid),
            (#"{"active":true,"sub":"alice","cnf":{"jkt":"x"}}"#, .tokenInvalid),
            (#"{"active":true,"sub":"alice","iss":"https://evil.example"}"#, .tokenInvalid),
        ] as [(String, OpenIDConnectError.Code?)])
    func `when an opaque token is introspected, then the answer decides`(
        answer: String, code: OpenIDConnectError.Code?
    ) async {
        provider.set { state in
            state.metadata["introspection_endpoint"] = "https://id.example/introspect"
            state.routes["https://id.example/introspect"] = { _ in .text(answer) }
        }
        let client = OpenIDProvider(
            issuer: TestProvider.issuer, clientID: "keys", clientSecret: "secret",
            transport: provider.transport(), clock: provider.clock)
        let found = await errorCode {
            let subject = try await client.subject(ofAccessToken: "opaque", audience: nil)
            #expect(subject == "alice")
        }
        #expect(found == code)
    }
}
