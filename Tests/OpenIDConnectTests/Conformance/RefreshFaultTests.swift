import Testing
import VaultHTTP

@testable import OpenIDConnect

/// The modules about refreshing, and other faults in the answer to a refresh.
@Suite("Faults: refreshing")
struct RefreshFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test("oidcc-client-test-refresh-token-invalid-issuer")
    func wrongIssuer() async throws {
        try await app.expectRefreshFault(.tokenInvalid) { alterations in
            alterations.idToken = { $0.claims["iss"] = "https://other.example" }
        }
    }

    @Test("oidcc-client-test-refresh-token-invalid-sub")
    func wrongSubject() async throws {
        try await app.expectRefreshFault(.tokenInvalid, belongsToAnother: true) { alterations in
            alterations.idToken = { $0.claims["sub"] = "mallory" }
        }
    }

    @Test("another person's answer replaces nothing, even when nobody signed it")
    func forgedSubject() async throws {
        try await app.expectRefreshFault(.tokenInvalid, belongsToAnother: true) { alterations in
            alterations.idToken = { draft in
                draft.key = .es256()
                draft.claims["sub"] = "mallory"
            }
        }
    }

    @Test(
        "the ID token of a refresh is held against the same rules",
        arguments: ["aud", "azp", "expired", "future", "no iat", "no sub", "unsigned", "forged", "hash", "garbage"])
    func claims(kind: String) async throws {
        let error = try await app.expectRefreshFault(.tokenInvalid) { alterations in
            alterations.idToken = { draft in
                switch kind {
                case "aud": draft.claims["aud"] = "other"
                case "azp": draft.claims["azp"] = "other"
                case "expired": draft.claims["exp"] = 1_799_999_000
                case "future": draft.claims["iat"] = 1_800_009_000
                case "no iat": draft.claims["iat"] = nil
                case "no sub": draft.claims["sub"] = nil
                case "unsigned": draft.header["alg"] = "none"
                case "forged": draft.key = .es256()
                case "hash": draft.claims["at_hash"] = draft.hash(of: "another access token")
                default: draft.encoded = "a.b.c"
                }
            }
        }
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test("an answer without a refresh token keeps nothing new, also when its ID token is wrong")
    func withoutRotation() async throws {
        try await app.expectRefreshFault(.tokenInvalid) { alterations in
            alterations.tokens = { $0["refresh_token"] = nil }
            alterations.idToken = { $0.claims["aud"] = "other" }
        }
        app.provider.alter { $0 = Alterations() }
        let old = try await app.signIn().refreshToken
        app.provider.alter { alterations in alterations.tokens = { $0["refresh_token"] = nil } }
        var kept: [String?] = []
        #expect(try await app.refresh(old, kept: &kept).refreshToken == nil)
        #expect(kept == [nil])
    }

    @Test("refresh tokens that are none keep nothing new", arguments: ["", 7, ["a"], "a\nb"] as [any Sendable])
    func oddRefreshToken(value: any Sendable) async throws {
        let old = try await app.signIn().refreshToken
        app.provider.alter { alterations in alterations.tokens = { $0["refresh_token"] = value } }
        var kept: [String?] = []
        #expect(try await app.refresh(old, kept: &kept).refreshToken == nil)
        #expect(kept == [nil])
    }

    @Test("when keeping fails, the call ends there")
    func keepingFails() async throws {
        struct Full: Error {}
        let old = try await app.signIn().refreshToken ?? ""
        app.provider.alter { $0.idToken = { _ in } }
        let start = app.provider.log.count
        await #expect(throws: Full.self) {
            _ = try await app.client.refresh(old, subject: MisbehavingProvider.subject) { _, _ in throw Full() }
        }
        #expect(app.provider.log.dropFirst(start).map(\.endpoint) == [.token])
    }

    @Test("a refresh whose ID token cannot be verified for want of keys gives the tokens without it")
    func withoutKeys() async throws {
        let old = try await app.signIn().refreshToken
        app.provider.sign(with: .es256(keyID: "k2"), publishing: nil)
        app.provider.alter { $0.replies[.keys] = { _ in .closed } }
        var kept: [String?] = []
        let tokens = try await app.refresh(old, kept: &kept)
        #expect(kept == [tokens.refreshToken])
        #expect(tokens.refreshToken != nil)
        #expect(tokens.idToken == nil)
    }

    @Test("every refresh uses the latest token once")
    func rotation() async throws {
        var token = try await app.signIn().refreshToken
        for _ in 0..<3 {
            var kept: [String?] = []
            _ = try await app.refresh(token, kept: &kept)
            token = kept.first ?? nil
        }
        let sent = app.provider.requests(to: .token).compactMap { $0.parameters["refresh_token"] }
        #expect(sent.count == 3)
        #expect(Set(sent).count == 3)
    }
}
