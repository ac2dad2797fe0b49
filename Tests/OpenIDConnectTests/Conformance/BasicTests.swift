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

    // Module: oidcc-client-test-nonce-unless-code-flow
    @Test func `when sign-ins start, then each request has a fresh nonce`() async throws {
        let tokens = try await app.signIn()
        let sent = app.provider.requests(to: .authorization).first?.parameters["nonce"]
        #expect(sent?.isEmpty == false)
        #expect(JSONValue(objectIn: tokens.idToken?.claimsJSON ?? [])?["nonce"]?.string == sent)
        _ = try await app.signIn()
        #expect(app.provider.requests(to: .authorization).last?.parameters["nonce"] != sent)
    }

    // Module: oidcc-client-test-nonce-invalid
    @Test func `when the nonce is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["nonce"] = RandomText.make() }
    }

    // Module: oidcc-client-test-invalid-iss
    @Test func `when the issuer is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["iss"] = "https://other.example" }
    }

    // Module: oidcc-client-test-invalid-aud
    @Test func `when the audience is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["aud"] = "other" }
    }

    // Module: oidcc-client-test-missing-aud
    @Test func `when the audience is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["aud"] = nil }
    }

    // Module: oidcc-client-test-missing-iat
    @Test func `when iat is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["iat"] = nil }
    }

    // Module: oidcc-client-test-missing-sub
    @Test func `when the subject is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["sub"] = nil }
    }

    // Module: oidcc-client-test-invalid-athash
    @Test func `when at_hash is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["at_hash"] = $0.hash(of: "another access token") }
    }

    // Module: oidcc-client-test-idtoken-sig-none
    @Test func `when the token is unsigned, then it is refused`() async {
        await app.expectRefusal { draft in
            draft.header = ["alg": "none"]
            let parts = [try json(draft.header), try json(draft.claims), ""]
            draft.encoded = parts.map { Base64URL.encode($0.utf8) }.joined(separator: ".")
        }
    }

    // Module: oidcc-client-test-invalid-sig-es256
    @Test func `when another key signs with ES256, then verification fails`() async {
        await app.expectRefusal { $0.key = .es256() }
    }

    // Module: oidcc-client-test-invalid-sig-hs256
    @Test func `when a foreign secret signs with HS256, then verification fails`() async {
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

    // Module: oidcc-client-test-idtoken-sig-rs256
    @Test func `when RS256 signs, then the token is accepted`() async throws {
        try await app.expectAcceptance { #expect($0.header["alg"] as? String == "RS256") }
    }

    // Module: oidcc-client-test-invalid-sig-rs256
    @Test func `when the RS256 signature is forged, then verification fails`() async {
        await app.expectRefusal { draft in
            // A signature over other claims.
            let signature = try draft.token().split(separator: ".")[2]
            draft.claims["email"] = "mallory@id.example"
            draft.encoded = try draft.token().split(separator: ".").prefix(2).joined(separator: ".") + "." + signature
        }
    }

    // Module: oidcc-client-test-kid-absent-single-jwks
    @Test func `when kid is absent, then the single key is used`() async throws {
        try await app.expectAcceptance { $0.header["kid"] = nil }
    }

    // Module: oidcc-client-test-kid-absent-multiple-jwks
    @Test func `when kid is absent, then the right key is found`() async throws {
        app.provider.alter { alterations in
            alterations.keys = { $0 = [Self.other, TestKey.es256(keyID: "k2").jwk] + $0 }
        }
        try await app.expectAcceptance { $0.header["kid"] = nil }
    }
}
