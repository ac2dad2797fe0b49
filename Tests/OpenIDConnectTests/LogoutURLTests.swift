import Testing

@testable import OpenIDConnect

@Suite("Logging out in the browser")
struct LogoutURLTests {
    let provider = TestProvider()

    init() {
        provider.set { $0.metadata["end_session_endpoint"] = "https://id.example/logout?tenant=1" }
    }

    @Test func `when all values are given, then the URL contains them`() async throws {
        let url = try await provider.client().logoutURL(
            idTokenHint: "a.b.c", postLogoutRedirectURI: "http://127.0.0.1:8765/bye", state: "x y")
        #expect(
            url == "https://id.example/logout?tenant=1&id_token_hint=a.b.c&client_id=vault-cli"
                + "&post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fbye&state=x%20y")
    }

    @Test(arguments: [nil, ""])
    func `when a value is missing, then the URL omits it`(hint: String?) async throws {
        let url = try await provider.client().logoutURL(idTokenHint: hint, postLogoutRedirectURI: nil)
        #expect(url == "https://id.example/logout?tenant=1&client_id=vault-cli")
    }

    @Test func `when a sign-in succeeds, then the ID token's text remains`() async throws {
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        let encoded = try provider.key.token(provider.claims(nonce: request.nonce))
        try provider.answer(idToken: encoded)
        let idToken = try #require(try await client.redeem(request, callback: callback).idToken)
        #expect(idToken.encoded == encoded)
        var printed = "\(idToken)\(String(reflecting: idToken))"
        dump(idToken, to: &printed)
        #expect(!printed.contains(encoded.prefix(20)))
    }

    @Test(arguments: ["http://app.example/", "/bye", "a b:/"])
    func `when the redirect URI is unsafe, then it is refused`(uri: String) async {
        let code = await errorCode {
            _ = try await provider.client().logoutURL(idTokenHint: nil, postLogoutRedirectURI: uri)
        }
        #expect(code == .configurationInvalid)
    }

    @Test func `when no logout endpoint exists, then the call is unsupported`() async {
        provider.set { $0.metadata["end_session_endpoint"] = nil }
        let code = await errorCode {
            _ = try await provider.client().logoutURL(idTokenHint: nil, postLogoutRedirectURI: nil)
        }
        #expect(code == .unsupported)
    }
}
