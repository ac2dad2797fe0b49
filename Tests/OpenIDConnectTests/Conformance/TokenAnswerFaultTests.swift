import Foundation
import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// Answers of the token endpoint that are odd, broken or missing, both for a code and for a refresh token.
@Suite("Faults: token answers")
struct TokenAnswerFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    /// A sign-in and a refresh both meet each alteration.
    private func expectFault(
        _ code: OpenIDConnectError.Code, isProcessed: Bool, sourceLocation: SourceLocation = #_sourceLocation,
        altering change: (inout Alterations) -> Void
    ) async throws {
        var error = try await app.expectRefreshFault(code, sourceLocation: sourceLocation, altering: change)
        #expect(error?.mayHaveBeenProcessed == isProcessed, sourceLocation: sourceLocation)
        let count = app.provider.requests(to: .token).count
        error = await app.expectFault(code, sourceLocation: sourceLocation) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == isProcessed, sourceLocation: sourceLocation)
        #expect(app.provider.requests(to: .token).count == count + 1, sourceLocation: sourceLocation)
    }

    @Test(
        "answers that are none",
        arguments: [
            (HTTPAnswer.text("<html>hello</html>"), OpenIDConnectError.Code.invalidAnswer, true),
            (.text(""), .invalidAnswer, true), (.text("null"), .invalidAnswer, true),
            (.text("[]"), .invalidAnswer, true),
            (.text("{}"), .invalidAnswer, true), (.text(#"{"access_token":"#), .invalidAnswer, true),
            (.text("access_token=a&token_type=bearer"), .invalidAnswer, true),
            (.text(String(repeating: "[", count: 500_000)), .invalidAnswer, true),
            (.text(String(repeating: " ", count: 1 << 21)), .invalidAnswer, true),
            (.text("", status: 500), .unavailable, true), (.text("<html>", status: 502), .unavailable, true),
            (.text("", status: 503), .unavailable, true), (.text("", status: 429), .unavailable, false),
            (.text(#"{"error":"invalid_grant"}"#, status: 400), .invalidGrant, false),
            (.text(#"{"error":"invalid_grant"}"#), .invalidGrant, false),
            (.text(#"{"error":"invalid_client"}"#, status: 401), .refused, false),
            (.text(#"{"error":"unsupported_grant_type"}"#, status: 400), .refused, false),
        ])
    func badAnswer(answer: HTTPAnswer, code: OpenIDConnectError.Code, isProcessed: Bool) async throws {
        try await expectFault(code, isProcessed: isProcessed) { $0.replies[.token] = { _ in .answer(answer) } }
    }

    @Test("an answer that sends the client elsewhere is not followed", arguments: [301, 302, 303, 307, 308])
    func redirected(status: Int) async throws {
        let trap = app.provider.origin + "/trap"
        try await expectFault(.invalidAnswer, isProcessed: false) { alterations in
            alterations.replies[.token] = { _ in
                var answer = HTTPAnswer.text("", status: status)
                answer.headerFields[.location] = trap
                return .answer(answer)
            }
        }
        #expect(app.provider.requests(to: .trap).isEmpty)
    }

    @Test("an answer that is cut off, and a connection that is closed", arguments: [true, false])
    func cut(isStarted: Bool) async throws {
        try await expectFault(.interrupted, isProcessed: true) { alterations in
            alterations.replies[.token] = { isStarted ? .truncated($0) : .closed }
        }
    }

    @Test("an answer that stops coming, and one that never comes", arguments: [true, false])
    func silent(isStarted: Bool) async throws {
        let transport = ImpatientTransport(at: .token)
        let app = NativeApp(at: app.provider, through: transport)
        app.provider.alter { alterations in
            alterations.replies[.token] = { answer in
                transport.giveUp()
                return isStarted ? .stalled(answer) : .silence
            }
        }
        let error = await app.expectFault(.timedOut) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test(
        "access tokens that are none",
        arguments: [nil, "", 7, true, "a\r\nb", "é", ["a"], NSNull()] as [(any Sendable)?])
    func accessToken(value: (any Sendable)?) async throws {
        try await expectFault(.invalidAnswer, isProcessed: true) { $0.tokens = { $0["access_token"] = value } }
    }

    @Test("access tokens that are used in another way", arguments: ["mac", "DPoP", "N_A", "Bearer, DPoP", "pop"])
    func tokenType(type: String) async throws {
        try await expectFault(.unsupported, isProcessed: true) { $0.tokens = { $0["token_type"] = type } }
    }

    @Test("ID tokens that are none, where one must come", arguments: [nil, 7, ["a"], NSNull()] as [(any Sendable)?])
    func idToken(value: (any Sendable)?) async {
        app.provider.alter { $0.tokens = { $0["id_token"] = value } }
        let error = await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test("what the provider says of a secret is not passed on with the secret in it")
    func echo() async throws {
        // The wording of a widespread authorization server.
        try await expectFault(.invalidGrant, isProcessed: false) { alterations in
            alterations.replies[.token] = { [provider = app.provider] _ in
                let form = provider.requests(to: .token).last?.parameters ?? [:]
                let secret = form["refresh_token"] ?? form["code"] ?? ""
                return .answer(
                    .text(#"{"error":"invalid_grant","error_description":"Invalid token: \#(secret)"}"#, status: 400))
            }
        }
    }

    @Test(
        "odd lifetimes never lose the tokens",
        arguments: [
            (60, 60), ("60", 60), (0, 0), (-5, 0), (59.5, 59.5), (1e300, nil), (NSNull(), nil), ("soon", nil),
            ("", nil),
            (true, nil), ("1e400", nil), ("nan", nil), ("-inf", nil), ([60], nil), (1_800_000_060_000, nil),
        ] as [(any Sendable, Double?)])
    func lifetime(value: any Sendable, seconds: Double?) async throws {
        app.provider.alter { $0.tokens = { $0["expires_in"] = value } }
        let tokens = try await app.signIn()
        #expect(tokens.expiresAt == seconds.map { app.provider.clock.now + $0 })
        var kept: [String?] = []
        let refreshed = try await app.refresh(tokens.refreshToken, kept: &kept)
        #expect(kept == [refreshed.refreshToken])
        #expect(refreshed.expiresAt == tokens.expiresAt)
    }

    @Test("the type of a token in any case", arguments: ["Bearer", "bearer", "BEARER", "bEaReR"])
    func bearer(type: String) async throws {
        app.provider.alter { $0.tokens = { $0["token_type"] = type } }
        #expect(try await app.signIn().idToken != nil)
    }
}
