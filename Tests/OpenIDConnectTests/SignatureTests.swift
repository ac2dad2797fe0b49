import JWTKit
import TestSupport
import Testing
import VaultBase

@testable import OpenIDConnect

/// The keys and signatures of RFC 7515 appendix A.
enum RFC7515 {
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let hs256 = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(payload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let rs256 =
        "eyJhbGciOiJSUzI1NiJ9.\(payload)."
        + "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
        + "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
        + "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
        + "wlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    static let es256 =
        "eyJhbGciOiJFUzI1NiJ9.\(payload)."
        + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    static let es512 =
        "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA."
        + "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgo"
        + "XD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"
    static let rsaModulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SF"
        + "d2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo"
        + "7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkM"
        + "Ls91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    /// This private key is published in the RFC, so anybody can sign with it.
    static let rsaPrivateExponent =
        "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395"
        + "IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV"
        + "_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQ"
        + "yGWSeWjnczT0QU91p1DhOVRuOopznQ"
    static let rsaKey = ["kty": "RSA", "n": rsaModulus, "e": "AQAB"]
    static let ecKey = [
        "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    ]
    static let ec521Key = [
        "kty": "EC", "crv": "P-521",
        "x": "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
        "y": "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
    ]
}

extension TestKey {
    /// The RSA key of RFC 7515 appendix A.2, for any RSA algorithm.
    static func rsa(_ algorithm: String) async throws -> TestKey {
        let keys = JWTKeyCollection()
        try await keys.add(
            jwk: .rsa(
                JWK.Algorithm(rawValue: algorithm), identifier: "k1", modulus: RFC7515.rsaModulus, exponent: "AQAB",
                privateExponent: RFC7515.rsaPrivateExponent))
        let signer = try await keys.getKey(for: "k1", alg: algorithm)
        return TestKey(algorithm: algorithm, jwk: RFC7515.rsaKey.merging(["kid": "k1"]) { $1 }) { try signer.sign($0) }
    }
}

@Suite("Signatures and keys")
struct SignatureTests {
    private func key(_ members: [String: String]) -> SignatureKey? {
        SignatureKey(.object(members.mapValues { .string($0) }))
    }

    private func isSigned(_ token: String, by members: [String: String]) throws -> Bool {
        guard let key = key(members) else { return false }
        return IDTokenVerifier.isSigned(try SignedToken(token), byAnyOf: [key])
    }

    @Test func `when a modulus is weakly generated, then it is recognized`() throws {
        // 65537 to the power of 128: each factor adds the number, moved by two bytes, to itself.
        var modulus: [UInt8] = [1]
        for _ in 0..<128 {
            var (sum, carry): ([UInt8], Int) = ([], 0)
            for (one, other) in zip((modulus + [0, 0]).reversed(), ([0, 0] + modulus).reversed()) {
                let digit = Int(one) + Int(other) + carry
                sum.append(UInt8(digit & 255))
                carry = digit >> 8
            }
            modulus = (carry > 0 ? [UInt8(carry)] : []) + sum.reversed()
        }
        #expect(WeakModulus.isIn(modulus))
        #expect(!WeakModulus.isIn(modulus.dropLast() + [3]))
        #expect(!WeakModulus.isIn(try #require(Base64URL.decode(RFC7515.rsaModulus))))
    }

    @Test(
        arguments: [
            (RFC7515.rs256, RFC7515.rsaKey), (RFC7515.es256, RFC7515.ecKey), (RFC7515.es512, RFC7515.ec521Key),
        ])
    func `when RFC 7515's signatures are checked, then they verify`(token: String, key: [String: String]) throws {
        #expect(try isSigned(token, by: key))
        #expect(try isSigned(token, by: key.merging(["use": "sig", "key_ops": "?"]) { $1 }))
    }

    @Test(arguments: [[], [0, 0]])
    func `when a coordinate has its number's zeros or not, then signatures verify`(zeros: [UInt8]) throws {
        let y = try #require(Base64URL.decode(RFC7515.ec521Key["y"] ?? ""))
        #expect(y.first == 0)
        let other = Base64URL.encode(zeros + y.dropFirst())
        #expect(try isSigned(RFC7515.es512, by: RFC7515.ec521Key.merging(["y": other]) { $1 }))
    }

    @Test func `when a token uses HMAC, then it is refused`() {
        #expect(throws: OpenIDConnectError.self) { try SignedToken(RFC7515.hs256) }
    }

    @Test(
        arguments: [
            ["use": "enc"], ["alg": "ES384"], ["alg": "HS256"], ["crv": "P-384"], ["kty": "RSA"], ["kty": "oct"],
            ["kty": "OKP"], ["kid": "other"], ["x": "f83O"], ["y": "x_FE"], ["x": "%%"],
            // A point on the curve's field but not on the curve.
            ["x": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"],
        ])
    func `when a key does not fit, then its signature fails`(change: [String: String]) throws {
        let header = #"{"alg":"ES256","kid":"k1"}"#
        let signer = TestKey.es256()
        let token = try signer.token(header: header, payload: "{}")
        #expect(try isSigned(token, by: signer.jwk))
        #expect(try !isSigned(token, by: signer.jwk.merging(change) { $1 }))
    }

    @Test func `when key_ops lacks verify, then the key is not used`() throws {
        var members = RFC7515.ecKey.mapValues(JSONValue.string)
        members["key_ops"] = .array([.string("sign")])
        let signing = try #require(SignatureKey(.object(members)))
        #expect(!IDTokenVerifier.isSigned(try SignedToken(RFC7515.es256), byAnyOf: [signing]))
        members["key_ops"] = .array([.string("verify")])
        let verifying = try #require(SignatureKey(.object(members)))
        #expect(IDTokenVerifier.isSigned(try SignedToken(RFC7515.es256), byAnyOf: [verifying]))
    }

    @Test func `when an RSA key has 1024 bits, then signatures fail`() throws {
        let token =
            "eyJhbGciOiJSUzI1NiJ9.e30.OSG6cqp8BBn7Sn06TEJtlFKbv6Kqaf6qbaAXs1NH4ZsWg1fIgq1IiuT2Ghge_gRTOgMvMWRHQZXm7mJm"
            + "CxuIx17zhuvQZjAZm_TzL8pPLepsLpHx5REK2qWjTQDhoo_UwvEv7LQXV0cSCSvjo8zb_pFDCl8hB3Gxjr8zG7enPZg"
        let modulus =
            "0q3EbUrkv_85qQ4B0lgsJmt7zQcvNHKHBzCyIvzBgFRqZK2_wl1DawWAoCYyY7HAUSqWdMosbVf98-5z9CMEgtvHeB7x7xcXuA_7mELW"
            + "rLgigaabaHi8W7RsEMOuwTtX0fSAPVNI2d-jB7XPO2EJ6CXWg3lZPOSE3G1gISK0s1E"
        #expect(try !isSigned(token, by: ["kty": "RSA", "n": modulus, "e": "AQAB"]))
    }

    @Test(arguments: ["", "AQ", "AA", "Ag", "AAAAAAAAAAAAAAAB", "////"])
    func `when an RSA exponent is broken, then signatures fail`(exponent: String) throws {
        #expect(try !isSigned(RFC7515.rs256, by: RFC7515.rsaKey.merging(["e": exponent]) { $1 }))
    }

    @Test func `when key set entries are unreadable, then they are skipped`() async throws {
        let provider = TestProvider()
        provider.set {
            $0.keys =
                [["kty": "oct", "k": "AAAA"], [:], ["kty": "EC"], ["kty": "RSA", "n": "!", "e": "AQAB"]] + $0.keys
        }
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce), header: ["kid": "k1"]))
        #expect(try await client.redeem(request, callback: callback).idToken?.subject == "alice")
    }
}

@Suite("Keys that change")
struct KeyRotationTests {
    static let keysURL = "https://id.example/keys"
    let provider = TestProvider()

    /// Refreshes with an ID token signed by `key`. Returns whether the client accepted it.
    private func accepts(_ key: TestKey, _ client: OpenIDProvider) async throws -> Bool {
        try provider.answer(idToken: key.token(provider.claims()))
        return await errorCode { _ = try await client.refresh("R", subject: "alice") } == nil
    }

    @Test func `when a kid is unknown, then keys are fetched again`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        #expect(try await accepts(provider.key, client))
        #expect(try await accepts(provider.key, client))
        #expect(transport.count(of: Self.keysURL) == 1)

        let next = TestKey.es256(keyID: "k2")
        provider.set { $0.keys.append(next.jwk) }
        #expect(try await accepts(next, client))
        #expect(transport.count(of: Self.keysURL) == 2)
    }

    @Test func `when a kid's key changes, then the new one counts`() async throws {
        let client = provider.client()
        #expect(try await accepts(provider.key, client))
        let next = TestKey.es256(keyID: "k1")
        provider.set { $0.keys = [next.jwk] }
        #expect(try await accepts(next, client))
        #expect(try await !accepts(provider.key, client))
    }

    @Test func `when unknown keys keep coming, then fetches are rate-limited`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        #expect(try await accepts(provider.key, client))
        let stranger = TestKey.es256(keyID: "x")
        for _ in 0..<5 { #expect(try await !accepts(stranger, client)) }
        #expect(transport.count(of: Self.keysURL) == 2)
        provider.clock.advance(by: 59)
        #expect(try await !accepts(stranger, client))
        #expect(transport.count(of: Self.keysURL) == 2)
        provider.clock.advance(by: 1)
        #expect(try await !accepts(stranger, client))
        #expect(transport.count(of: Self.keysURL) == 3)
        // Known keys still work.
        #expect(try await accepts(provider.key, client))
    }

    @Test func `when keys are fresh, then an unknown kid fetches nothing`() async throws {
        let transport = provider.transport()
        #expect(try await !accepts(TestKey.es256(keyID: "x"), provider.client(transport)))
        #expect(transport.count(of: Self.keysURL) == 1)
    }

    @Test func `when keys are withdrawn, then they expire after an hour`() async throws {
        let client = provider.client()
        #expect(try await accepts(provider.key, client))
        provider.set { $0.keys = [TestKey.es256(keyID: "k2").jwk] }
        #expect(try await accepts(provider.key, client))
        provider.clock.advance(by: 3600)
        #expect(try await !accepts(provider.key, client))
    }

    @Test func `when 50 tokens come together, then keys are fetched once`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        try provider.answer(idToken: provider.key.token(provider.claims()))
        _ = try await client.metadata()
        let crowd = Crowd(50)
        provider.set { state in
            let answer = state.token
            state.gate = { await crowd.wait() }
            state.token = { request in
                crowd.come()
                return try await answer(request)
            }
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { _ = try await client.refresh("R", subject: "alice") }
            }
            try await group.waitForAll()
        }
        #expect(transport.count(of: Self.keysURL) == 1)
    }
}
