import Foundation
import HTTPTypes
import TestSupport
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
    func `when a token answer fails, then the error tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code, isProcessed: Bool
    ) async throws {
        try await expectFault(code, isProcessed: isProcessed) { $0.replies[.token] = { _ in .answer(answer) } }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `when the answer redirects, then the client does not follow`(status: Int) async throws {
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

    @Test(arguments: [true, false])
    func `when the answer is cut off, then the call fails`(isStarted: Bool) async throws {
        try await expectFault(.interrupted, isProcessed: true) { alterations in
            alterations.replies[.token] = { isStarted ? .truncated($0) : .closed }
        }
    }

    @Test(arguments: [true, false])
    func `when the answer never arrives, then the sign-in times out`(isStarted: Bool) async throws {
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

    @Test(arguments: [nil, "", 7, true, "a\r\nb", "é", ["a"], NSNull()] as [(any Sendable)?])
    func `when the access token is invalid, then the call fails`(value: (any Sendable)?) async throws {
        try await expectFault(.invalidAnswer, isProcessed: true) { $0.tokens = { $0["access_token"] = value } }
    }

    @Test(arguments: ["mac", "DPoP", "N_A", "Bearer, DPoP", "pop"])
    func `when the token type is unknown, then it is unsupported`(type: String) async throws {
        try await expectFault(.unsupported, isProcessed: true) { $0.tokens = { $0["token_type"] = type } }
    }

    @Test(arguments: [nil, 7, ["a"], NSNull()] as [(any Sendable)?])
    func `when the ID token is unusable, then the sign-in fails`(value: (any Sendable)?) async {
        app.provider.alter { $0.tokens = { $0["id_token"] = value } }
        let error = await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test func `when the description repeats a secret, then it is omitted`() async throws {
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
        arguments: [
            (60, 60), ("60", 60), (0, 0), (-5, 0), (59.5, 59.5), (1e300, nil), (NSNull(), nil), ("soon", nil),
            ("", nil),
            (true, nil), ("1e400", nil), ("nan", nil), ("-inf", nil), ([60], nil), (1_800_000_060_000, nil),
        ] as [(any Sendable, Double?)])
    func `when expires_in is odd, then the tokens are kept`(value: any Sendable, seconds: Double?) async throws {
        app.provider.alter { $0.tokens = { $0["expires_in"] = value } }
        let tokens = try await app.signIn()
        #expect(tokens.expiresAt == seconds.map { app.provider.clock.now + $0 })
        var kept: [String?] = []
        let refreshed = try await app.refresh(tokens.refreshToken, kept: &kept)
        #expect(kept == [refreshed.refreshToken])
        #expect(refreshed.expiresAt == tokens.expiresAt)
    }

    @Test(arguments: ["Bearer", "bearer", "BEARER", "bEaReR"])
    func `when token_type has another case, then the sign-in succeeds`(type: String) async throws {
        app.provider.alter { $0.tokens = { $0["token_type"] = type } }
        #expect(try await app.signIn().idToken != nil)
    }
}
