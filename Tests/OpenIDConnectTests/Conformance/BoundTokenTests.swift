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

    @Test("fapi2-security-profile-final-client-test-happy-path")
    func nonces() async throws {
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

    @Test("fapi2-security-profile-final-client-test-happy-path-no-dpop-nonce")
    func noNonces() async throws {
        app.provider.offer { $0.proofNonce = nil }
        let tokens = try await app.signIn()
        #expect(tokens.dpopKey != nil)
        _ = try await app.userinfo(tokens)
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test("fapi2-security-profile-final-client-refresh-token-test")
    func refresh() async throws {
        var tokens = try await app.signIn()
        app.provider.endAccessTokens()
        let error = await caught { _ = try await app.userinfo(tokens) }
        #expect(error?.code == .refused)
        #expect(error?.status == 401)
        for _ in 0..<2 { tokens = try await app.refresh(tokens) }
        #expect(tokens.dpopKey != nil)
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
    }

    @Test("fapi2-security-profile-final-client-test-rs-dpop-auth-scheme-case-insensitivity")
    func schemeInAnyCase() async throws {
        let tokens = try await app.signIn()
        app.provider.offer { features in
            features.proofNonce = "nonce-2"
            features.proofScheme = "dPoP"
        }
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
        #expect(app.provider.requests(to: .userinfo).count == 2)
    }

    @Test("tokens are worth nothing with another key, and without one")
    func otherKey() async throws {
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

    @Test("a proof leaves the query of the endpoint out")
    func query() async throws {
        app.provider.alter { alterations in
            alterations.metadata = { $0["token_endpoint"] = "\($0["token_endpoint"] ?? "")?tenant=1" }
        }
        #expect(try await app.signIn().tokenType == "DPoP")
        #expect(app.provider.requests(to: .token).first?.request.target.hasSuffix("?tenant=1") == true)
    }

    @Test("the type of a bound token in any case", arguments: ["DPoP", "dpop", "DPOP", "dPoP"])
    func tokenType(spelled: String) async throws {
        app.provider.alter { alterations in alterations.tokens = { $0["token_type"] = spelled } }
        let tokens = try await app.signIn()
        #expect(tokens.tokenType == spelled)
        #expect(tokens.dpopKey != nil)
    }

    @Test("a provider that is never content with a nonce is asked twice, and the code counts as unused")
    func endlessNonces() async throws {
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

    @Test(
        "a nonce that is missing or none is not tried",
        arguments: [nil, "a\"b", "a b", String(repeating: "n", count: 5000)])
    func oddNonce(nonce: String?) async {
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

    @Test("a nonce with another error is no reason to send anything again", arguments: [400, 401, 403, 500])
    func nonceWithOtherError(status: Int) async throws {
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

    @Test("the ID token that comes with a bound token is held against the same rules")
    func idToken() async throws {
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
