import Foundation
import TestSupport
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

    // Module: fapi2-security-profile-final-client-test-invalid-iss
    @Test func `when the issuer is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["iss"] = "\($0.claims["iss"] ?? "")/1" }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-missing-iss
    @Test func `when the issuer is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["iss"] = nil }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-aud
    @Test func `when the audience is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["aud"] = "vault-cli1" }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-missing-aud
    @Test func `when the audience is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["aud"] = nil }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-secondary-aud
    @Test func `when another audience is added, then the token is refused`() async {
        await app.expectRefusal { $0.claims["aud"] = [MisbehavingProvider.clientID, "other"] }
    }

    // Module: fapi2-security-profile-final-client-test-valid-aud-as-array
    @Test func `when an array holds the audience, then verification succeeds`() async throws {
        try await app.expectAcceptance { $0.claims["aud"] = [MisbehavingProvider.clientID] }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-expired-exp
    @Test func `when the token is expired, then it is refused`() async {
        let now = app.provider.clock.now.timeIntervalSince1970
        await app.expectRefusal { draft in
            draft.claims["iat"] = now - 900
            draft.claims["exp"] = now - 301
        }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-missing-exp
    @Test func `when exp is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["exp"] = nil }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-nonce
    @Test func `when the nonce is wrong, then the token is refused`() async {
        await app.expectRefusal { $0.claims["nonce"] = "\($0.claims["nonce"] ?? "")1" }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-missing-nonce
    @Test func `when the nonce is missing, then the token is refused`() async {
        await app.expectRefusal { $0.claims["nonce"] = nil }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-null-alg
    @Test func `when alg is none, then the token is refused`() async {
        await app.expectRefusal { draft in
            // The signature is right, so only the name of the algorithm is wrong.
            draft.header["alg"] = "none"
        }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-alternate-alg
    @Test func `when the algorithm mismatches the key, then verification fails`() async throws {
        // The published key is for PS256. A signature with RS256 by the same key does not count.
        var key = try await TestKey.rsa("PS256")
        key.jwk["alg"] = "PS256"
        let app = try await NativeApp(key: key)
        _ = try await app.signIn()
        let alternate = try await TestKey.rsa("RS256")
        await app.expectRefusal { $0.key = alternate }
    }

    // Module: fapi2-security-profile-final-client-test-discovery-issuer-mismatch
    @Test func `when the metadata issuer differs, then the sign-in fails`() async {
        app.provider.alter { alterations in alterations.metadata = { $0["issuer"] = "\($0["issuer"] ?? "")/1" } }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
    }

    // Module: fapi2-security-profile-final-client-test-invalid-authorization-response-iss
    @Test func `when the redirect's issuer is wrong, then the sign-in fails`() async {
        app.provider.alter { $0.redirect = { $0.set("iss", "https://other.example") } }
        await app.expectFault(.callbackInvalid) { _ = try await app.signIn() }
    }

    // Module: fapi2-security-profile-final-client-test-remove-authorization-response-iss
    @Test func `when the redirect's issuer is missing, then the sign-in fails`() async {
        app.provider.alter { $0.redirect = { $0.set("iss", nil) } }
        await app.expectFault(.callbackInvalid) { _ = try await app.signIn() }
    }

    // Module: fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-state-fails
    @Test func `when the state is wrong, then the sign-in fails`() async {
        app.provider.alter { $0.redirect = { $0.set("state", RandomText.make()) } }
        await app.expectFault(.stateMismatch) { _ = try await app.signIn() }
    }

    // Module: fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-missing-state-fails
    @Test func `when the state is missing, then the sign-in fails`() async {
        app.provider.alter { $0.redirect = { $0.set("state", nil) } }
        await app.expectFault(.stateMismatch) { _ = try await app.signIn() }
    }

    // Module: fapi2-security-profile-final-client-test-token-endpoint-response-without-expires_in
    @Test func `when expires_in is missing, then the expiry is unknown`() async throws {
        app.provider.alter { alterations in alterations.tokens = { $0["expires_in"] = nil } }
        let tokens = try await app.signIn()
        #expect(tokens.expiresAt == nil)
        #expect(tokens.idToken != nil)
    }

    // Module: fapi2-security-profile-final-client-test-token-type-case-insensitivity
    @Test(arguments: ["bEARER", "BEARER", "bearer"])
    func `when token_type has another case, then the sign-in succeeds`(spelled: String) async throws {
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
