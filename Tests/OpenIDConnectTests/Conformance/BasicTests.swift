import Testing
import VaultBase

@testable import OpenIDConnect

/// The modules of the Basic RP profile that are about the ID token and the request for it.
@Suite("Conformance: Basic RP")
struct BasicTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test("oidcc-client-test-nonce-unless-code-flow")
    func nonce() async throws {
        let tokens = try await app.signIn()
        let sent = app.provider.requests(to: .authorization).first?.parameters["nonce"]
        #expect(sent?.isEmpty == false)
        #expect(JSONValue(objectIn: tokens.idToken?.claimsJSON ?? [])?["nonce"]?.string == sent)
        _ = try await app.signIn()
        #expect(app.provider.requests(to: .authorization).last?.parameters["nonce"] != sent)
    }

    @Test("oidcc-client-test-nonce-invalid")
    func wrongNonce() async {
        await app.expectRefusal { $0.claims["nonce"] = RandomText.make() }
    }

    @Test("oidcc-client-test-invalid-iss")
    func wrongIssuer() async {
        await app.expectRefusal { $0.claims["iss"] = "https://other.example" }
    }

    @Test("oidcc-client-test-invalid-aud")
    func wrongAudience() async {
        await app.expectRefusal { $0.claims["aud"] = "other" }
    }

    @Test("oidcc-client-test-missing-aud")
    func noAudience() async {
        await app.expectRefusal { $0.claims["aud"] = nil }
    }

    @Test("oidcc-client-test-missing-iat")
    func noTimeOfIssue() async {
        await app.expectRefusal { $0.claims["iat"] = nil }
    }

    @Test("oidcc-client-test-missing-sub")
    func noSubject() async {
        await app.expectRefusal { $0.claims["sub"] = nil }
    }

    @Test("oidcc-client-test-invalid-athash")
    func wrongAccessTokenHash() async {
        await app.expectRefusal { $0.claims["at_hash"] = $0.hash(of: "another access token") }
    }

    @Test("oidcc-client-test-idtoken-sig-none")
    func unsigned() async {
        await app.expectRefusal { draft in
            draft.header = ["alg": "none"]
            let parts = [try json(draft.header), try json(draft.claims), ""]
            draft.encoded = parts.map { Base64URL.encode($0.utf8) }.joined(separator: ".")
        }
    }

    @Test("oidcc-client-test-invalid-sig-es256")
    func forgedES256() async {
        await app.expectRefusal { $0.key = .es256() }
    }

    @Test("oidcc-client-test-invalid-sig-hs256")
    func forgedHS256() async {
        await app.expectRefusal { $0.key = .hs256(keyedWith: Array("a secret that nobody agreed on".utf8)) }
    }
}

/// The modules of the Basic RP profile that are about RSA keys.
@Suite("Conformance: Basic RP with RSA")
struct BasicRSATests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp(key: try await .rsa("RS256"))
    }

    /// Another public RSA key of the same size.
    private static let other = [
        "kty": "RSA", "n": "ofgX" + RFC7515.rsaModulus.dropFirst(4), "e": "AQAB", "use": "sig", "alg": "RS256",
    ]

    @Test("oidcc-client-test-idtoken-sig-rs256")
    func signed() async throws {
        try await app.expectAcceptance { #expect($0.header["alg"] as? String == "RS256") }
    }

    @Test("oidcc-client-test-invalid-sig-rs256")
    func forged() async {
        await app.expectRefusal { draft in
            // A signature over other claims.
            let signature = try draft.token().split(separator: ".")[2]
            draft.claims["email"] = "mallory@id.example"
            draft.encoded = try draft.token().split(separator: ".").prefix(2).joined(separator: ".") + "." + signature
        }
    }

    @Test("oidcc-client-test-kid-absent-single-jwks")
    func oneKey() async throws {
        try await app.expectAcceptance { $0.header["kid"] = nil }
    }

    @Test("oidcc-client-test-kid-absent-multiple-jwks")
    func severalKeys() async throws {
        app.provider.alter { alterations in
            alterations.keys = { $0 = [Self.other, TestKey.es256(keyID: "k2").jwk] + $0 }
        }
        try await app.expectAcceptance { $0.header["kid"] = nil }
    }
}
