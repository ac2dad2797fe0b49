import HTTPTypes
import Testing
import VaultHTTP
import VaultNetworking

@testable import OpenIDConnect

/// Redirects with forged, mixed-up or extra parameters.
@Suite("Faults: redirects")
struct RedirectFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    private func expectFault(
        _ code: OpenIDConnectError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        altering change: @escaping @Sendable (inout [(name: String, value: String)]) -> Void
    ) async {
        app.provider.alter { $0.redirect = change }
        let error = await app.expectFault(code, sourceLocation: sourceLocation) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == false, sourceLocation: sourceLocation)
        #expect(app.provider.requests(to: .token).isEmpty, sourceLocation: sourceLocation)
    }

    @Test func `when the state is wrong, then the redirect is refused`() async throws {
        let other = try await app.start().state
        await expectFault(.stateMismatch) { $0.set("state", RandomText.make()) }
        await expectFault(.stateMismatch) { $0.set("state", "") }
        await expectFault(.stateMismatch) { $0.set("state", nil) }
        await expectFault(.stateMismatch) { $0.set("state", $0.value("state").lowercased()) }
        await expectFault(.stateMismatch) { $0.set("state", $0.value("state") + "A") }
        await expectFault(.stateMismatch) { $0.set("state", other) }
    }

    @Test func `when the announced issuer is wrong, then the redirect fails`() async {
        await expectFault(.callbackInvalid) { $0.set("iss", "https://other.example") }
        await expectFault(.callbackInvalid) { $0.set("iss", "") }
        await expectFault(.callbackInvalid) { $0.set("iss", nil) }
        await expectFault(.callbackInvalid) { $0.set("iss", $0.value("iss") + "/") }
    }

    @Test func `when a wrong issuer is unannounced, then the redirect fails`() async throws {
        app.provider.alter { alterations in
            alterations.metadata = { $0["authorization_response_iss_parameter_supported"] = nil }
            alterations.redirect = { $0.set("iss", nil) }
        }
        #expect(try await app.signIn().idToken != nil)
        let count = app.provider.requests(to: .token).count
        app.provider.alter { $0.redirect = { $0.set("iss", "https://other.example") } }
        await app.expectFault(.callbackInvalid) { _ = try await app.signIn() }
        #expect(app.provider.requests(to: .token).count == count)
    }

    @Test(arguments: ["code", "state", "iss"])
    func `when a parameter comes twice, then the redirect is refused`(name: String) async {
        let code = name == "state" ? OpenIDConnectError.Code.stateMismatch : .callbackInvalid
        await expectFault(code) { $0.append((name, $0.value(name))) }
        await expectFault(code) { $0.insert((name, "other"), at: 0) }
    }

    @Test func `when the code is unusable, then the redirect is refused`() async {
        await expectFault(.callbackInvalid) { $0.set("code", nil) }
        await expectFault(.callbackInvalid) { $0.set("code", "") }
        await expectFault(.callbackInvalid) { $0.set("code", "a\r\nb") }
        await expectFault(.callbackInvalid) { $0.set("code", "é") }
    }

    @Test func `when the redirect carries an error, then nothing is redeemed`() async {
        await expectFault(.denied) { redirect in
            redirect.set("code", nil)
            redirect.set("error", "access_denied")
        }
        await expectFault(.callbackInvalid) { $0.set("error", "access_denied") }
        await expectFault(.stateMismatch) { $0 = [("error", "access_denied"), ("iss", $0.value("iss"))] }
    }

    @Test func `when another response mode is used, then the redirect fails`() async throws {
        // A signed redirect (JARM), and a redirect of the implicit flow.
        await expectFault(.stateMismatch) { $0 = [("response", "eyJhbGciOiJub25lIn0.e30.")] }
        let request = try await app.start()
        app.provider.alter { $0.redirect = { _ in } }
        await app.expectFault(.stateMismatch) {
            let callback = try await app.callback(of: request).replacing("?", with: "#")
            _ = try await app.client.redeem(request, callback: callback)
        }
        #expect(app.provider.requests(to: .token).isEmpty)
    }

    @Test func `when the redirect has extra parameters, then they are ignored`() async throws {
        app.provider.alter { alterations in
            alterations.redirect = {
                $0 += [
                    ("session_state", "a.b"), ("scope", "openid email"), ("authuser", "0"), ("x", "\u{0}&=#%"),
                    ("", ""),
                    ("x", "twice"), ("access_token", "forged"), ("id_token", "forged"), ("token_type", "Bearer"),
                ]
            }
        }
        let tokens = try await app.signIn()
        #expect(tokens.accessToken != "forged")
        #expect(tokens.idToken?.subject == MisbehavingProvider.subject)
    }

    @Test func `when the browser repeats the redirect, then redemption happens once`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        let request = try await app.start(redirectURI: "http://127.0.0.1:\(listener.port)/callback")
        let callback = try await app.callback(of: request)
        async let first = app.visit(callback)
        let received = try await listener.redirect(timeout: .seconds(60))
        #expect(try await app.visit(callback).status.code >= 400)
        #expect(try await app.client.redeem(request, callback: received.target).idToken != nil)
        await received.respond("done")
        #expect(try await first.status == .ok)
        await listener.stop()
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test func `when an app redeems twice, then one request is sent`() async throws {
        let request = try await app.start()
        let callback = try await app.callback(of: request)
        _ = try await app.client.redeem(request, callback: callback)
        #expect(await errorCode { _ = try await app.client.redeem(request, callback: callback) } == .callbackInvalid)
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test func `when a forged redirect comes first, then sign-in still succeeds`() async throws {
        let request = try await app.start()
        let callback = try await app.callback(of: request)
        let forged = "/callback?code=forged&state=forged"
        #expect(await errorCode { _ = try await app.client.redeem(request, callback: forged) } == .stateMismatch)
        #expect(try await app.client.redeem(request, callback: callback).idToken != nil)
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test func `when no redirect comes, then waiting ends`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        let request = try await app.start(redirectURI: "http://127.0.0.1:\(listener.port)/callback")
        _ = try await app.callback(of: request)
        await #expect(throws: RedirectListenerError.self) {
            _ = try await listener.redirect(timeout: .milliseconds(1))
        }
        await listener.stop()
        #expect(app.provider.requests(to: .token).isEmpty)
    }
}

extension [(name: String, value: String)] {
    func value(_ name: String) -> String { first { $0.name == name }?.value ?? "" }
}
