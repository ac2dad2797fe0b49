import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// The FAPI 2 modules about whole sign-ins, with pushed requests (RFC 9126) and proofs of possession (RFC 9449). The
/// provider refuses every proof with a fault.
@Suite("Conformance: FAPI 2 flows")
struct BoundTokenTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
        app.provider.offer { features in
            features.pushesRequests = true
            features.bindsTokens = true
            features.proofNonce = "nonce-1"
        }
    }

    // Module: fapi2-security-profile-final-client-test-happy-path
    @Test func `when a nonce is demanded, then the bound sign-in succeeds`() async throws {
        let tokens = try await app.signIn(scopes: ["openid", "email"])
        #expect(tokens.tokenType == "DPoP")
        #expect(try await app.userinfo(tokens).email == "alice@id.example")
        // Only the reference goes through the browser.
        let authorization = try #require(app.provider.requests(to: .authorization).first)
        #expect(Set(authorization.parameters.keys) == ["client_id", "request_uri"])
        let pushed = try #require(app.provider.requests(to: .pushedAuthorization).first)
        #expect(pushed.parameters["dpop_jkt"] == tokens.dpopKey?.thumbprint)
        // The provider asks for the nonce once. Afterwards the client knows it.
        #expect(app.provider.requests(to: .token).count == 2)
        #expect(app.provider.requests(to: .userinfo).count == 1)
        #expect(app.provider.requests(to: .userinfo).first?.request.field("Authorization")?.hasPrefix("DPoP ") == true)
    }

    // Module: fapi2-security-profile-final-client-test-happy-path-no-dpop-nonce
    @Test func `when no nonce is demanded, then the bound sign-in succeeds`() async throws {
        app.provider.offer { $0.proofNonce = nil }
        let tokens = try await app.signIn()
        #expect(tokens.dpopKey != nil)
        _ = try await app.userinfo(tokens)
        #expect(app.provider.requests(to: .token).count == 1)
    }

    // Module: fapi2-security-profile-final-client-refresh-token-test
    @Test func `when the access token ends, then refreshing replaces it`() async throws {
        var tokens = try await app.signIn()
        app.provider.endAccessTokens()
        let error = await caught { _ = try await app.userinfo(tokens) }
        #expect(error?.code == .refused)
        #expect(error?.status == 401)
        for _ in 0..<2 { tokens = try await app.refresh(tokens) }
        #expect(tokens.dpopKey != nil)
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
    }

    // Module: fapi2-security-profile-final-client-test-rs-dpop-auth-scheme-case-insensitivity
    @Test func `when the scheme's case differs, then the nonce is understood`() async throws {
        let tokens = try await app.signIn()
        app.provider.offer { features in
            features.proofNonce = "nonce-2"
            features.proofScheme = "dPoP"
        }
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
        #expect(app.provider.requests(to: .userinfo).count == 2)
    }

    @Test func `when the key differs, then bound tokens are refused`() async throws {
        var tokens = try await app.signIn()
        let key = tokens.dpopKey
        for other in [DPoPKey(), nil] {
            tokens.dpopKey = other
            #expect(await errorCode { _ = try await app.userinfo(tokens) } == .refused)
        }
        tokens.dpopKey = key
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
        tokens.dpopKey = DPoPKey()
        #expect(await errorCode { _ = try await app.refresh(tokens) } == .invalidGrant)
    }

    @Test func `when an endpoint has a query, then proofs omit it`() async throws {
        app.provider.alter { alterations in
            alterations.metadata = { $0["token_endpoint"] = "\($0["token_endpoint"] ?? "")?tenant=1" }
        }
        #expect(try await app.signIn().tokenType == "DPoP")
        #expect(app.provider.requests(to: .token).first?.request.target.hasSuffix("?tenant=1") == true)
    }

    @Test(arguments: ["DPoP", "dpop", "DPOP", "dPoP"])
    func `when token_type has another case, then tokens stay bound`(spelled: String) async throws {
        app.provider.alter { alterations in alterations.tokens = { $0["token_type"] = spelled } }
        let tokens = try await app.signIn()
        #expect(tokens.tokenType == spelled)
        #expect(tokens.dpopKey != nil)
    }

    @Test func `when nonces never satisfy, then no third request is sent`() async throws {
        app.provider.alter { alterations in
            alterations.replies[.token] = { _ in
                var answer = HTTPAnswer.text(#"{"error":"use_dpop_nonce"}"#, status: 400)
                answer.headerFields[HTTPField.Name("DPoP-Nonce")!] = RandomText.make()
                return .answer(answer)
            }
        }
        let error = await caught { _ = try await app.signIn() }
        #expect(error?.code == .refused)
        #expect(error?.mayHaveBeenProcessed == false)
        #expect(app.provider.requests(to: .token).count == 2)
    }

    @Test(arguments: [nil, "a\"b", "a b", String(repeating: "n", count: 5000)])
    func `when the nonce is unusable, then nothing is sent again`(nonce: String?) async {
        app.provider.alter { alterations in
            alterations.replies[.token] = { _ in
                var answer = HTTPAnswer.text(#"{"error":"use_dpop_nonce"}"#, status: 400)
                answer.headerFields[HTTPField.Name("DPoP-Nonce")!] = nonce
                return .answer(answer)
            }
        }
        await app.expectFault(.refused) { _ = try await app.signIn() }
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test(arguments: [400, 401, 403, 500])
    func `when another error brings a nonce, then nothing is repeated`(status: Int) async throws {
        let tokens = try await app.signIn()
        let count = app.provider.requests(to: .token).count
        app.provider.alter { alterations in
            alterations.replies[.token] = { _ in
                var answer = HTTPAnswer.text(#"{"error":"invalid_grant"}"#, status: status)
                answer.headerFields[HTTPField.Name("DPoP-Nonce")!] = "nonce-3"
                return .answer(answer)
            }
        }
        await app.expectFault(status == 500 ? .unavailable : .invalidGrant) { _ = try await app.refresh(tokens) }
        #expect(app.provider.requests(to: .token).count == count + 1)
    }

    @Test func `when the ID token is wrong, then bound calls fail`() async throws {
        // The client already knows the provider's nonce, so it meets the fault at the first try.
        _ = try await app.signIn()
        await app.expectRefusal { $0.claims["nonce"] = "other" }
        app.provider.alter { $0.idToken = nil }
        let tokens = try await app.signIn()
        app.provider.alter { $0.idToken = { $0.claims["aud"] = "other" } }
        var kept: [String?] = []
        await app.expectFault(.tokenInvalid) {
            _ = try await app.refresh(tokens.refreshToken, dpopKey: tokens.dpopKey, kept: &kept)
        }
        #expect(kept == [app.provider.requests(to: .token).last?.refreshToken])
    }
}
