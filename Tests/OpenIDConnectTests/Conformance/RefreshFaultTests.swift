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

    // Module: oidcc-client-test-refresh-token-invalid-issuer
    @Test func `when the issuer is wrong, then the refresh fails`() async throws {
        try await app.expectRefreshFault(.tokenInvalid) { alterations in
            alterations.idToken = { $0.claims["iss"] = "https://other.example" }
        }
    }

    // Module: oidcc-client-test-refresh-token-invalid-sub
    @Test func `when the subject differs, then no refresh token is kept`() async throws {
        try await app.expectRefreshFault(.tokenInvalid, belongsToAnother: true) { alterations in
            alterations.idToken = { $0.claims["sub"] = "mallory" }
        }
    }

    @Test func `when a forged subject differs, then no token is kept`() async throws {
        try await app.expectRefreshFault(.tokenInvalid, belongsToAnother: true) { alterations in
            alterations.idToken = { draft in
                draft.key = .es256()
                draft.claims["sub"] = "mallory"
            }
        }
    }

    @Test(arguments: ["aud", "azp", "expired", "future", "no iat", "no sub", "unsigned", "forged", "hash", "garbage"])
    func `when a refreshed ID token is wrong, then refreshing fails`(kind: String) async throws {
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

    @Test func `when no refresh token comes, then nothing new is kept`() async throws {
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

    @Test(arguments: ["", 7, ["a"], "a\nb"] as [any Sendable])
    func `when the refresh token is invalid, then nothing is kept`(value: any Sendable) async throws {
        let old = try await app.signIn().refreshToken
        app.provider.alter { alterations in alterations.tokens = { $0["refresh_token"] = value } }
        var kept: [String?] = []
        #expect(try await app.refresh(old, kept: &kept).refreshToken == nil)
        #expect(kept == [nil])
    }

    @Test func `when keeping fails, then the refresh ends there`() async throws {
        struct Full: Error {}
        let old = try await app.signIn().refreshToken ?? ""
        app.provider.alter { $0.idToken = { _ in } }
        let start = app.provider.log.count
        await #expect(throws: Full.self) {
            _ = try await app.client.refresh(old, subject: MisbehavingProvider.subject) { _, _ in throw Full() }
        }
        #expect(app.provider.log.dropFirst(start).map(\.endpoint) == [.token])
    }

    @Test func `when keys are unreachable, then tokens come without ID token`() async throws {
        let old = try await app.signIn().refreshToken
        app.provider.sign(with: .es256(keyID: "k2"), publishing: nil)
        app.provider.alter { $0.replies[.keys] = { _ in .closed } }
        var kept: [String?] = []
        let tokens = try await app.refresh(old, kept: &kept)
        #expect(kept == [tokens.refreshToken])
        #expect(tokens.refreshToken != nil)
        #expect(tokens.idToken == nil)
    }

    @Test func `when refreshes repeat, then each token is used once`() async throws {
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
