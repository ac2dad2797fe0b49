import Foundation
import HTTPTypes
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

/// Registering a client (RFC 7591), and logging out in the browser.
@Suite("Conformance: registration and logout")
struct RegistrationConformanceTests {
    let app: NativeApp
    private let description = ClientMetadata(name: "App", redirectURIs: [NativeApp.redirectURI])

    init() async throws {
        app = NativeApp(at: try await MisbehavingProvider(), clientID: "")
    }

    private func expectFault(
        _ code: OpenIDConnectError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        altering change: (inout Alterations) -> Void
    ) async {
        app.provider.alter(change)
        await app.expectFault(code, sourceLocation: sourceLocation) {
            _ = try await app.client.registerClient(description)
        }
        #expect(app.provider.requests(to: .registration).count == 1, sourceLocation: sourceLocation)
    }

    // Module: oidcc-client-test-dynamic-registration
    @Test(arguments: [false, true])
    func `when a client registers, then it can sign in`(givesSecrets: Bool) async throws {
        app.provider.offer { $0.givesSecrets = givesSecrets }
        let client = try await app.client.registerClient(description)
        #expect((client.clientSecret != nil) == givesSecrets)
        let registered = NativeApp(
            at: app.provider, clientID: client.clientID, clientSecret: client.clientSecret,
            tokenEndpointAuthMethod: client.tokenEndpointAuthMethod)
        #expect(try await registered.signIn().idToken?.subject == MisbehavingProvider.subject)
        let sent = try #require(app.provider.requests(to: .registration).first?.request)
        let members = try #require(JSONValue(objectIn: Array(sent.body.utf8)))
        #expect(members["redirect_uris"]?.strings == [NativeApp.redirectURI])
        #expect(members["token_endpoint_auth_method"]?.string == "none")
        #expect(members["application_type"]?.string == "native")
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("<html>", status: 201), OpenIDConnectError.Code.invalidAnswer),
            (.text("[]", status: 201), .invalidAnswer), (.text("{}", status: 201), .invalidAnswer),
            (.text(#"{"client_id":""}"#, status: 201), .invalidAnswer),
            (.text(#"{"client_id":7}"#, status: 201), .invalidAnswer),
            (.text(#"{"client_id":"a\nb"}"#, status: 201), .invalidAnswer),
            (.text(#"{"error":"invalid_redirect_uri"}"#, status: 400), .refused), (.text("", status: 401), .refused),
            (.text("", status: 307), .refused), (.text("", status: 500), .unavailable),
        ])
    func `when the registration fails, then the error tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        await expectFault(code) { $0.replies[.registration] = { _ in .answer(answer) } }
    }

    @Test func `when the answer is cut off, then the registration fails`() async {
        await expectFault(.interrupted) { $0.replies[.registration] = { .truncated($0) } }
    }

    // Module: oidcc-client-test-rp-init-logout
    @Test func `when the browser logs out, then all parameters arrive`() async throws {
        let app = NativeApp(at: app.provider)
        let tokens = try await app.signIn()
        let url = try await app.client.logoutURL(
            idTokenHint: tokens.idToken?.encoded, postLogoutRedirectURI: NativeApp.redirectURI, state: "a b&c")
        #expect(try await app.visit(url).status == .found)
        let sent = try #require(app.provider.requests(to: .endSession).first?.parameters)
        #expect(sent["id_token_hint"] == tokens.idToken?.encoded)
        #expect(sent["post_logout_redirect_uri"] == NativeApp.redirectURI)
        #expect(sent["state"] == "a b&c")
    }
}
