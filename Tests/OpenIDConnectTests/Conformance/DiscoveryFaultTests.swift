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
        arguments: [
            "ISSUER/", "ISSUER/x", "ISSUER?", "ISSUER#", "ISSUER ", "https://other.example", "http://LOCALHOST", "",
            "/",
        ])
    func `when the metadata names another issuer, then the sign-in fails`(text: String) async {
        let issuer = app.provider.issuer
        await expectFault { $0["issuer"] = text.replacing("ISSUER", with: issuer) }
    }

    @Test func `when the issuer is no text, then the sign-in fails`() async {
        await expectFault { $0["issuer"] = 7 }
        await expectFault { $0["issuer"] = ["\($0["issuer"] ?? "")"] }
        await expectFault { $0["issuer"] = nil }
    }

    @Test func `when only the configuration has a slash, then sign-in fails`() async {
        let app = NativeApp(at: app.provider, issuer: app.provider.issuer + "/")
        app.provider.alter { $0.metadata = { _ in } }
        let error = await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
        #expect(error?.reason.contains("slash") == true)
    }

    @Test func `when both issuers end with a slash, then sign-in succeeds`() async throws {
        let plain = app.provider.issuer
        app.provider.rename(plain + "/")
        let app = NativeApp(at: app.provider)
        #expect(try await app.signIn().idToken?.issuer == plain + "/")
        await app.expectRefusal { $0.claims["iss"] = plain }
    }

    @Test(
        arguments: ["authorization_endpoint", "token_endpoint", "jwks_uri"],
        [nil, "", "/token", "http://id.example/token", "javascript:alert(1)", "file:///etc/passwd", "https://", "x"])
    func `when a required endpoint is unusable, then the sign-in fails`(member: String, url: String?) async {
        await expectFault { $0[member] = url }
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("<html>hello</html>"), OpenIDConnectError.Code.invalidAnswer), (.text(""), .invalidAnswer),
            (.text("null"), .invalidAnswer), (.text("[]"), .invalidAnswer), (.text("{}"), .invalidAnswer),
            (.text(String(repeating: "[", count: 500_000)), .invalidAnswer),
            (.text(#"{"issuer":"#), .invalidAnswer), (.text(String(repeating: " ", count: 1 << 21)), .invalidAnswer),
            (.text("", status: 204), .invalidAnswer), (.text("", status: 403), .invalidAnswer),
            (.text("", status: 500), .unavailable), (.text("", status: 503), .unavailable),
            (.text("", status: 429), .unavailable),
        ])
    func `when the document is unusable, then the error tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        app.provider.alter { $0.replies[.discovery] = { _ in .answer(answer) } }
        let error = await app.expectFault(code) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `when the document redirects, then the client does not follow`(status: Int) async {
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

    @Test func `when the document is cut off, then the sign-in fails`() async {
        app.provider.alter { $0.replies[.discovery] = { .truncated($0) } }
        let error = await app.expectFault(.interrupted) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test(arguments: [true, false])
    func `when the document never arrives, then the sign-in times out`(isStarted: Bool) async {
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

    @Test func `when a bad document is replaced, then the sign-in succeeds`() async throws {
        await expectFault { $0["issuer"] = "https://other.example" }
        app.provider.alter { $0.metadata = nil }
        #expect(try await app.signIn().idToken != nil)
    }
}
