import Foundation
import TestSupport
import Testing

@testable import OpenIDConnect

@Suite("ID token")
struct IDTokenTests {
    let provider = TestProvider()

    /// Verifies with the public API: the token is the answer of a sign-in.
    private func verify(_ make: (_ nonce: String) throws -> String) async throws -> OpenIDConnectError? {
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(idToken: make(request.nonce))
        return await caught { _ = try await client.redeem(request, callback: callback) }
    }

    private func verify(changing claims: [String: Any?], header: [String: Any] = [:]) async throws
        -> OpenIDConnectError?
    {
        try await verify { nonce in
            var all = provider.claims(nonce: nonce)
            for (name, value) in claims { all[name] = value }
            return try provider.key.token(all, header: header)
        }
    }

    @Test(
        arguments: [
            "ES256", "ES384", "ES512", "EdDSA", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
        ])
    func `when an algorithm is supported, then its signatures verify`(name: String) async throws {
        var key =
            switch name {
            case "ES256": TestKey.es256()
            case "ES384": TestKey.es384()
            case "ES512": TestKey.es512()
            case "EdDSA": TestKey.ed25519()
            default: try await TestKey.rsa(name)
            }
        provider.set { $0.keys = [key.jwk] }
        #expect(try await verify { try key.token(provider.claims(nonce: $0)) } == nil)

        key.jwk["kid"] = nil
        provider.set { $0.keys = [TestKey.es256().jwk, key.jwk] }
        #expect(try await verify { try key.token(provider.claims(nonce: $0)) } == nil)
        // The signature matters.
        let broken = try await verify { nonce in
            let token = try key.token(provider.claims(nonce: nonce))
            let other = try key.token(provider.claims(nonce: "x"))
            return token.split(separator: ".").dropLast().joined(separator: ".") + "."
                + (other.split(separator: ".").last ?? "")
        }
        #expect(broken?.code == .tokenInvalid)
    }

    @Test(
        arguments: [
            #"{"alg":"none","kid":"k1"}"#, #"{"alg":"NONE","kid":"k1"}"#, #"{"alg":"HS256","kid":"k1"}"#,
            #"{"alg":"es256","kid":"k1"}"#, #"{"alg":"ES384","kid":"k1"}"#, #"{"alg":"RS256","kid":"k1"}"#,
            #"{"kid":"k1"}"#,
            #"{"alg":["ES256"],"kid":"k1"}"#, #"{"alg":"ES256","kid":"k1","crit":["exp"]}"#,
            #"{"alg":"ES256","kid":"k1","crit":null}"#, #"{"alg":"ES256","kid":"k1","typ":"at+jwt"}"#,
            #"{"alg":"ES256","kid":"k1","typ":7}"#, #"{"alg":"ES256","kid":"other"}"#, #"{"alg":"ES256","kid":7}"#,
            #"{"alg":"none","alg":"ES256","kid":"k1"}"#, #"{"alg":"ES256","a\u006cg":"ES256","kid":"k1"}"#,
            #"{"alg":"ES256","kid":"k1","x":{"a":1,"a":1}}"#, #"["ES256"]"#, #"{"alg":"ES256","kid":"k1""#, "",
        ])
    func `when the header is unacceptable, then the token is refused`(header: String) async throws {
        let error = try await verify { nonce in
            try provider.key.token(header: header, payload: json(provider.claims(nonce: nonce)))
        }
        #expect(error?.code == .tokenInvalid)
    }

    @Test(
        arguments: [
            #"{"alg":"ES256","kid":"k1"}"#, #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"k1","typ":"jwt"}"#,
            #"{"alg":"ES256","kid":"k1","x5t":"a:b","n":1e300,"d":{"a":[{"b":"\":{"}]}}"#,
        ])
    func `when the header is harmless, then the token is accepted`(header: String) async throws {
        let error = try await verify { nonce in
            try provider.key.token(header: header, payload: json(provider.claims(nonce: nonce)))
        }
        #expect(error == nil)
    }

    @Test(arguments: ["jwk", "jku", "x5u", "x5c"])
    func `when the header contains a key, then it is ignored`(member: String) async throws {
        let other = TestKey.es256()
        let value: Any =
            switch member {
            case "jwk": other.jwk
            case "x5c": ["AAAA"]
            default: "https://evil.example/keys"
            }
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(idToken: other.token(provider.claims(nonce: request.nonce), header: [member: value]))
        #expect(await errorCode { _ = try await client.redeem(request, callback: callback) } == .tokenInvalid)
        #expect(transport.requests.allSatisfy { $0.url.hasPrefix("https://id.example/") })
        // The provider's key is enough, even if such a member exists.
        #expect(try await verify(changing: [:], header: [member: value]) == nil)
    }

    @Test(
        arguments: [
            "", "a", "a.b", "..", "a.b.c.d", "e30.e30.", "eyJhbGciOiJFUzI1NiJ9.e30.AA", "e30=.e30=.AA==", "é.é.é",
        ])
    func `when the text is no token, then it is refused`(token: String) async throws {
        #expect(try await verify { _ in token }?.code == .tokenInvalid)
    }

    @Test(arguments: ["=", "\n", " ", "+"])
    func `when a character follows the token, then verification fails`(suffix: String) async throws {
        let error = try await verify { try provider.key.token(provider.claims(nonce: $0)) + suffix }
        #expect(error?.code == .tokenInvalid)
    }

    @Test func `when a claim occurs twice, then the token is refused`() async throws {
        let error = try await verify { nonce in
            let payload = try json(provider.claims(nonce: nonce)).dropLast() + #","sub":"alice"}"#
            return try provider.key.token(header: #"{"alg":"ES256"}"#, payload: String(payload))
        }
        #expect(error?.code == .tokenInvalid)
    }

    @Test(
        arguments: [
            ("iss", "https://id.example/realm/"), ("iss", "https://evil.example"), ("iss", nil),
            ("aud", "other"), ("aud", nil), ("aud", ["other"]), ("aud", [String]()), ("aud", ["vault-cli", "other"]),
            ("aud", 7), ("azp", "other"), ("azp", 7), ("sub", nil), ("sub", ""), ("sub", "ünı"), ("sub", "a\nb"),
            ("sub", String(repeating: "s", count: 256)), ("sub", 1), ("nonce", nil), ("nonce", "other"), ("nonce", 1),
            ("at_hash", "AAAA"), ("at_hash", 1),
        ] as [(String, (any Sendable)?)])
    func `when a claim is wrong, then the token is refused`(name: String, value: (any Sendable)?) async throws {
        #expect(try await verify(changing: [name: value])?.code == .tokenInvalid)
    }

    @Test(
        arguments: [
            ["aud": ["vault-cli"]], ["azp": "vault-cli"], ["aud": ["x", "vault-cli"], "azp": "vault-cli"],
            // The left half of SHA-256 over "ACCESS".
            ["at_hash": "wBo4cF3WXe7GFSA9ZfubbA"], ["sub": String(repeating: "s", count: 255)], ["email": 7],
            ["sub": "1"],
        ] as [[String: any Sendable]])
    func `when unusual claims are valid, then the token is accepted`(claims: [String: any Sendable]) async throws {
        #expect(try await verify(changing: claims) == nil)
    }

    /// Seconds from now; the tolerance is 120.
    @Test(
        arguments: [
            ("exp", -119, true), ("exp", -120, false), ("exp", -3600, false), ("iat", 120, true), ("iat", 121, false),
            ("iat", -86_400, true), ("nbf", 120, true), ("nbf", 121, false), ("exp", 0.5, true),
        ] as [(String, Double, Bool)])
    func `when times exceed the tolerance, then verification fails`(
        name: String, offset: Double, isValid: Bool
    ) async throws {
        let value = provider.clock.now.timeIntervalSince1970 + offset
        #expect(try await verify(changing: [name: value])?.code == (isValid ? nil : .tokenInvalid))
    }

    @Test(arguments: ["exp", "iat", "nbf"])
    func `when a time is no number, then verification fails`(name: String) async throws {
        #expect(try await verify(changing: [name: "1800000000"])?.code == .tokenInvalid)
        if name != "nbf" { #expect(try await verify(changing: [name: nil])?.code == .tokenInvalid) }
    }

    @Test(arguments: ["exp", "iat", "nbf"], [-1, -1e300, 1e300, 1_800_000_000_000, 32_503_680_000])
    func `when a time is impossible, then verification fails`(name: String, value: Double) async throws {
        #expect(try await verify(changing: [name: value])?.code == .tokenInvalid)
    }

    @Test func `when nbf is 0, then the token is accepted`() async throws {
        #expect(try await verify(changing: ["nbf": 0]) == nil)
    }

    @Test(arguments: ["ES384", "ES512", "EdDSA"])
    func `when at_hash uses the algorithm's digest, then verification succeeds`(name: String) async throws {
        let key = name == "ES384" ? TestKey.es384() : name == "ES512" ? .es512() : .ed25519()
        // Left halves of SHA-384 and SHA-512 over "ACCESS".
        let hash =
            name == "ES384"
            ? "3nGHn3ihow-p6_C7namOSt5dg2xI7EN_" : "88RA4NLqAxoihRqrcO2KtoNiWmhyYnpxZk9onDpE5jc"
        provider.set { $0.keys = [key.jwk] }
        let error = try await verify { nonce in
            try key.token(provider.claims(nonce: nonce).merging(["at_hash": hash]) { $1 })
        }
        #expect(error == nil)
    }
}
