import Testing
import VaultHTTP

@testable import OpenIDConnect

@Suite("Password grant")
struct PasswordGrantTests {
    let provider = TestProvider()

    private func signIn(_ client: OpenIDProvider) async throws -> TokenSet {
        try await client.signIn(username: "al&ice", password: "PASS word", scopes: ["openid", "email"])
    }

    @Test func `when a password signs in, then one request contains it`() async throws {
        try provider.answer(idToken: provider.key.token(provider.claims()))
        let transport = provider.transport()
        let tokens = try await signIn(provider.client(transport))
        #expect(tokens.idToken?.subject == "alice")
        #expect(tokens.refreshToken == "REFRESH")
        let sent = transport.requests.filter { "\($0.url)\($0.body)\($0.headerFields)".contains("PASS") }
        #expect(
            sent.map(\.body) == [
                "grant_type=password&username=al%26ice&password=PASS%20word&scope=openid%20email&client_id=vault-cli"
            ])
        #expect(sent.map(\.url) == ["https://id.example/token"])
    }

    @Test(
        arguments: [
            (HTTPAnswer.text(#"{"error":"invalid_grant"}"#, status: 400), OpenIDConnectError.Code.wrongCredentials),
            (.text(#"{"error":"invalid_grant"}"#, status: 401), .wrongCredentials),
            (.text("", status: 400), .wrongCredentials), (.text("", status: 403), .wrongCredentials),
            (.text(#"{"error":"unauthorized_client"}"#, status: 400), .refused),
            (.text(#"{"error":"unsupported_grant_type"}"#, status: 400), .refused),
            (.text(#"{"error":"invalid_client"}"#, status: 401), .refused), (.text("", status: 404), .refused),
            (.text("", status: 503), .unavailable),
        ])
    func `when the provider refuses, then the error code tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        provider.set { $0.token = { _ in answer } }
        let transport = provider.transport()
        let error = await caught { _ = try await signIn(provider.client(transport)) }
        #expect(error?.code == code)
        #expect(error?.description.contains("PASS") == false)
        #expect(transport.count(of: "https://id.example/token") == 1)
    }

    @Test func `when no valid ID token comes, then the sign-in fails`() async throws {
        try provider.answer()
        #expect(await errorCode { _ = try await signIn(provider.client()) } == .invalidAnswer)
        try provider.answer(idToken: TestKey.es256().token(provider.claims()))
        #expect(await errorCode { _ = try await signIn(provider.client()) } == .tokenInvalid)
    }

    @Test func `when the scope lacks openid, then nothing is sent`() async {
        let transport = provider.transport()
        let code = await errorCode {
            _ = try await provider.client(transport).signIn(username: "a", password: "b", scopes: [])
        }
        #expect(code == .configurationInvalid)
        #expect(transport.requests.isEmpty)
    }
}
