import Foundation
import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// User information about another person, from another issuer, or without content.
@Suite("Faults: user information")
struct UserinfoFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    /// The tokens exist already. Only the request for user information meets the alteration.
    private func expectFault(
        _ code: OpenIDConnectError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        altering change: (inout Alterations) -> Void
    ) async throws {
        let tokens = try await app.signIn()
        app.provider.alter(change)
        let error = await app.expectFault(code, sourceLocation: sourceLocation) { _ = try await app.userinfo(tokens) }
        #expect(error?.mayHaveBeenProcessed == false, sourceLocation: sourceLocation)
    }

    @Test(arguments: [nil, "mallory", "", "Alice", "alice ", 7, ["alice"], NSNull(), true] as [(any Sendable)?])
    func `when the subject is wrong, then the answer is refused`(value: (any Sendable)?) async throws {
        try await expectFault(.userInfoInvalid) { $0.userinfo = { $0["sub"] = value } }
    }

    @Test(arguments: ["mallory", "alice"])
    func `when the subject occurs twice, then the answer is refused`(other: String) async throws {
        try await expectFault(.userInfoInvalid) { alterations in
            alterations.replies[.userinfo] = { _ in .answer(.text(#"{"sub":"\#(other)","sub":"alice"}"#)) }
        }
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("<html>hello</html>"), OpenIDConnectError.Code.userInfoInvalid),
            (.text(""), .userInfoInvalid), (.text("[]"), .userInfoInvalid), (.text("null"), .userInfoInvalid),
            (.text(#""alice""#), .userInfoInvalid), (.text("{}"), .userInfoInvalid),
            (.text(String(repeating: "[", count: 500_000)), .userInfoInvalid),
            (.text(String(repeating: " ", count: 1 << 21)), .invalidAnswer),
            (.text("", status: 401), .refused), (.text("", status: 403), .refused), (.text("", status: 404), .refused),
            (.text("", status: 204), .refused), (.text("", status: 500), .unavailable),
            (.text("", status: 429), .unavailable),
        ])
    func `when the answer is unusable, then the error tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async throws {
        try await expectFault(code) { $0.replies[.userinfo] = { _ in .answer(answer) } }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `when the answer redirects, then the client does not follow`(status: Int) async throws {
        let trap = app.provider.origin + "/trap"
        try await expectFault(.refused) { alterations in
            alterations.replies[.userinfo] = { _ in
                var answer = HTTPAnswer.text("", status: status)
                answer.headerFields[.location] = trap
                return .answer(answer)
            }
        }
        #expect(app.provider.requests(to: .trap).isEmpty)
    }

    @Test(arguments: [true, false])
    func `when the answer is cut off, then the call fails`(isStarted: Bool) async throws {
        try await expectFault(.interrupted) { alterations in
            alterations.replies[.userinfo] = { isStarted ? .truncated($0) : .closed }
        }
    }

    @Test(arguments: ["forged", "none", "HS256", "iss", "aud", "sub", "exp", "nbf", "typ", "crit", "twice", "garbage"])
    func `when the signed answer is wrong, then it is refused`(kind: String) async throws {
        app.provider.offer { $0.signsUserinfo = true }
        try await expectFault(.userInfoInvalid) { alterations in
            alterations.signedUserinfo = { draft in
                switch kind {
                case "forged": draft.key = .es256()
                case "none": draft.header["alg"] = "none"
                case "HS256": draft.key = .hs256(keyedWith: Array(MisbehavingProvider.clientID.utf8))
                case "iss": draft.claims["iss"] = "https://other.example"
                case "aud": draft.claims["aud"] = "other"
                case "sub": draft.claims["sub"] = "mallory"
                case "exp": draft.claims["exp"] = 1_799_999_000
                case "nbf": draft.claims["nbf"] = 1_800_009_000
                case "typ": draft.header["typ"] = "at+jwt"
                case "crit": draft.header["crit"] = ["exp"]
                case "twice": try draft.write("sub", #""mallory","sub":"alice""#)
                default: draft.encoded = #"{"sub":"alice"}"#
                }
            }
        }
    }

    @Test func `when a signed answer claims JSON, then it is refused`() async throws {
        app.provider.offer { $0.signsUserinfo = true }
        try await expectFault(.userInfoInvalid) { alterations in
            alterations.replies[.userinfo] = { answer in
                var answer = answer
                answer.headerFields[.contentType] = "application/json"
                return .answer(answer)
            }
        }
    }
}
