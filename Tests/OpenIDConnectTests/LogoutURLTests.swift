import Testing

@testable import OpenIDConnect

@Suite("Logging out in the browser")
struct LogoutURLTests {
    let provider = TestProvider()

    init() {
        provider.set { $0.metadata["end_session_endpoint"] = "https://id.example/logout?tenant=1" }
    }

    @Test("the address says who wants to log out and where to go then")
    func full() async throws {
        let url = try await provider.client().logoutURL(
            idTokenHint: "a.b.c", postLogoutRedirectURI: "http://127.0.0.1:8765/bye", state: "x y")
        #expect(
            url == "https://id.example/logout?tenant=1&id_token_hint=a.b.c&client_id=vault-cli"
                + "&post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fbye&state=x%20y")
    }

    @Test("what is not known is left out", arguments: [nil, ""])
    func empty(hint: String?) async throws {
        let url = try await provider.client().logoutURL(idTokenHint: hint, postLogoutRedirectURI: nil)
        #expect(url == "https://id.example/logout?tenant=1&client_id=vault-cli")
    }

    @Test("the ID token of a sign-in is the hint, as it came, and is not printed")
    func hint() async throws {
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

    @Test("a redirect URI that cannot be right is refused", arguments: ["http://app.example/", "/bye", "a b:/"])
    func redirectURI(uri: String) async {
        let code = await errorCode {
            _ = try await provider.client().logoutURL(idTokenHint: nil, postLogoutRedirectURI: uri)
        }
        #expect(code == .configurationInvalid)
    }

    @Test("a provider without it says so")
    func unsupported() async {
        provider.set { $0.metadata["end_session_endpoint"] = nil }
        let code = await errorCode {
            _ = try await provider.client().logoutURL(idTokenHint: nil, postLogoutRedirectURI: nil)
        }
        #expect(code == .unsupported)
    }
}
