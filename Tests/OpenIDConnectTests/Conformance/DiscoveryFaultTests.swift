import Foundation
import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// Providers with wrong metadata, or without metadata.
@Suite("Faults: discovery")
struct DiscoveryFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    private func expectFault(
        _ code: OpenIDConnectError.Code = .invalidAnswer,
        altering change: @escaping @Sendable (inout Alterations.Members) -> Void
    ) async {
        app.provider.alter { $0.metadata = change }
        let error = await app.expectFault(code) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false)
    }

    /// ISSUER stands for the right issuer.
    @Test(
        "another issuer",
        arguments: [
            "ISSUER/", "ISSUER/x", "ISSUER?", "ISSUER#", "ISSUER ", "https://other.example", "http://LOCALHOST", "",
            "/",
        ])
    func issuer(text: String) async {
        let issuer = app.provider.issuer
        await expectFault { $0["issuer"] = text.replacing("ISSUER", with: issuer) }
    }

    @Test("an issuer that is no text, or none")
    func noIssuer() async {
        await expectFault { $0["issuer"] = 7 }
        await expectFault { $0["issuer"] = ["\($0["issuer"] ?? "")"] }
        await expectFault { $0["issuer"] = nil }
    }

    @Test("a slash at the end that only the configuration has")
    func configuredSlash() async {
        let app = NativeApp(at: app.provider, issuer: app.provider.issuer + "/")
        app.provider.alter { $0.metadata = { _ in } }
        let error = await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
        #expect(error?.reason.contains("slash") == true)
    }

    @Test("a slash at the end that both have is the issuer in the redirect and in the ID token, too")
    func commonSlash() async throws {
        let plain = app.provider.issuer
        app.provider.rename(plain + "/")
        let app = NativeApp(at: app.provider)
        #expect(try await app.signIn().idToken?.issuer == plain + "/")
        await app.expectRefusal { $0.claims["iss"] = plain }
    }

    @Test(
        "endpoints that are missing or none",
        arguments: ["authorization_endpoint", "token_endpoint", "jwks_uri"],
        [nil, "", "/token", "http://id.example/token", "javascript:alert(1)", "file:///etc/passwd", "https://", "x"])
    func endpoint(member: String, url: String?) async {
        await expectFault { $0[member] = url }
    }

    @Test(
        "documents that are none",
        arguments: [
            (HTTPAnswer.text("<html>hello</html>"), OpenIDConnectError.Code.invalidAnswer), (.text(""), .invalidAnswer),
            (.text("null"), .invalidAnswer), (.text("[]"), .invalidAnswer), (.text("{}"), .invalidAnswer),
            (.text(String(repeating: "[", count: 500_000)), .invalidAnswer),
            (.text(#"{"issuer":"#), .invalidAnswer), (.text(String(repeating: " ", count: 1 << 21)), .invalidAnswer),
            (.text("", status: 204), .invalidAnswer), (.text("", status: 403), .invalidAnswer),
            (.text("", status: 500), .unavailable), (.text("", status: 503), .unavailable),
            (.text("", status: 429), .unavailable),
        ])
    func badDocument(answer: HTTPAnswer, code: OpenIDConnectError.Code) async {
        app.provider.alter { $0.replies[.discovery] = { _ in .answer(answer) } }
        let error = await app.expectFault(code) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test("a document that lies elsewhere is not followed", arguments: [301, 302, 303, 307, 308])
    func redirected(status: Int) async {
        let trap = app.provider.origin + "/trap"
        app.provider.alter { alterations in
            alterations.replies[.discovery] = { _ in
                var answer = HTTPAnswer.text("", status: status)
                answer.headerFields[.location] = trap
                return .answer(answer)
            }
        }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
        #expect(app.provider.requests(to: .trap).isEmpty)
    }

    @Test("a document that is cut off")
    func cut() async {
        app.provider.alter { $0.replies[.discovery] = { .truncated($0) } }
        let error = await app.expectFault(.interrupted) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test("a document that stops coming, and one that never comes", arguments: [true, false])
    func silent(isStarted: Bool) async {
        let transport = ImpatientTransport(at: .discovery)
        let app = NativeApp(at: app.provider, through: transport)
        app.provider.alter { alterations in
            alterations.replies[.discovery] = { answer in
                transport.giveUp()
                return isStarted ? .stalled(answer) : .silence
            }
        }
        let error = await app.expectFault(.timedOut) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test("after a bad document a good one is taken: nothing bad is kept")
    func recovery() async throws {
        await expectFault { $0["issuer"] = "https://other.example" }
        app.provider.alter { $0.metadata = nil }
        #expect(try await app.signIn().idToken != nil)
    }
}
