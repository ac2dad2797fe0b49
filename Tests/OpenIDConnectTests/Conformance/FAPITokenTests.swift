import Foundation
import Testing

@testable import OpenIDConnect

/// The FAPI 2 modules about ID tokens and redirects. They have other names than the Basic RP modules that test the
/// same.
@Suite("Conformance: FAPI 2 tokens and redirects")
struct FAPITokenTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test("fapi2-security-profile-final-client-test-invalid-iss")
    func wrongIssuer() async {
        await app.expectRefusal { $0.claims["iss"] = "\($0.claims["iss"] ?? "")/1" }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-iss")
    func noIssuer() async {
        await app.expectRefusal { $0.claims["iss"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-aud")
    func wrongAudience() async {
        await app.expectRefusal { $0.claims["aud"] = "vault-cli1" }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-aud")
    func noAudience() async {
        await app.expectRefusal { $0.claims["aud"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-secondary-aud")
    func secondAudience() async {
        await app.expectRefusal { $0.claims["aud"] = [MisbehavingProvider.clientID, "other"] }
    }

    @Test("fapi2-security-profile-final-client-test-valid-aud-as-array")
    func audienceInArray() async throws {
        try await app.expectAcceptance { $0.claims["aud"] = [MisbehavingProvider.clientID] }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-expired-exp")
    func expired() async {
        let now = app.provider.clock.now.timeIntervalSince1970
        await app.expectRefusal { draft in
            draft.claims["iat"] = now - 900
            draft.claims["exp"] = now - 301
        }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-exp")
    func noExpiry() async {
        await app.expectRefusal { $0.claims["exp"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-nonce")
    func wrongNonce() async {
        await app.expectRefusal { $0.claims["nonce"] = "\($0.claims["nonce"] ?? "")1" }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-nonce")
    func noNonce() async {
        await app.expectRefusal { $0.claims["nonce"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-null-alg")
    func unsigned() async {
        await app.expectRefusal { draft in
            // The signature is right, so only the name of the algorithm is wrong.
            draft.header["alg"] = "none"
        }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-alternate-alg")
    func otherAlgorithm() async throws {
        // The published key is for PS256. A signature with RS256 by the same key does not count.
        var key = try await TestKey.rsa("PS256")
        key.jwk["alg"] = "PS256"
        let app = try await NativeApp(key: key)
        _ = try await app.signIn()
        let alternate = try await TestKey.rsa("RS256")
        await app.expectRefusal { $0.key = alternate }
    }

    @Test("fapi2-security-profile-final-client-test-discovery-issuer-mismatch")
    func issuerMismatch() async {
        app.provider.alter { alterations in alterations.metadata = { $0["issuer"] = "\($0["issuer"] ?? "")/1" } }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-authorization-response-iss")
    func redirectFromOther() async {
        app.provider.alter { $0.redirect = { $0.set("iss", "https://other.example") } }
        await app.expectFault(.callbackInvalid) { _ = try await app.signIn() }
    }

    @Test("fapi2-security-profile-final-client-test-remove-authorization-response-iss")
    func redirectFromNobody() async {
        app.provider.alter { $0.redirect = { $0.set("iss", nil) } }
        await app.expectFault(.callbackInvalid) { _ = try await app.signIn() }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-state-fails")
    func wrongState() async {
        app.provider.alter { $0.redirect = { $0.set("state", RandomText.make()) } }
        await app.expectFault(.stateMismatch) { _ = try await app.signIn() }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-missing-state-fails")
    func noState() async {
        app.provider.alter { $0.redirect = { $0.set("state", nil) } }
        await app.expectFault(.stateMismatch) { _ = try await app.signIn() }
    }

    @Test("fapi2-security-profile-final-client-test-token-endpoint-response-without-expires_in")
    func noLifetime() async throws {
        app.provider.alter { alterations in alterations.tokens = { $0["expires_in"] = nil } }
        let tokens = try await app.signIn()
        #expect(tokens.expiresAt == nil)
        #expect(tokens.idToken != nil)
    }

    @Test(
        "fapi2-security-profile-final-client-test-token-type-case-insensitivity",
        arguments: ["bEARER", "BEARER", "bearer"])
    func tokenType(spelled: String) async throws {
        app.provider.alter { alterations in alterations.tokens = { $0["token_type"] = spelled } }
        #expect(try await app.signIn().tokenType == spelled)
    }
}

extension [(name: String, value: String)] {
    /// Sets a parameter to this value, or removes it.
    mutating func set(_ name: String, _ value: String?) {
        removeAll { $0.name == name }
        if let value { append((name, value)) }
    }
}
