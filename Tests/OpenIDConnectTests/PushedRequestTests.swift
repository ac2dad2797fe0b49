import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultHTTP

@testable import OpenIDConnect

@Suite("Pushed authorization requests")
struct PushedRequestTests {
    static let endpoint = "https://id.example/par"

    let provider = TestProvider()

    init() {
        provider.set { $0.metadata["pushed_authorization_request_endpoint"] = Self.endpoint }
        answer(#"{"request_uri":"urn:example:a b","expires_in":90}"#.replacingOccurrences(of: " ", with: "+"))
    }

    private func answer(_ text: String, status: Int = 201) {
        provider.set { $0.routes[Self.endpoint] = { _ in .text(text, status: status) } }
    }

    private func insist() { provider.set { $0.metadata["require_pushed_authorization_requests"] = true } }

    private func request(_ client: OpenIDProvider, mayPush: Bool = true) async throws -> AuthorizationRequest {
        try await client.authorizationRequest(
            redirectURI: TestProvider.redirectURI, scopes: ["openid"], parameters: SignInParameters(prompt: "login"),
            mayPush: mayPush)
    }

    @Test func `when parameters are pushed, then the URL only references them`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let request = try await request(client)
        #expect(request.url == "https://id.example/auth?tenant=1&client_id=vault-cli&request_uri=urn%3Aexample%3Aa%2Bb")
        #expect(request.expiresAt == provider.clock.now + 90)
        let sent = try #require(FormParameters.decode(transport.requests.last?.body ?? ""))
        #expect(
            Dictionary(uniqueKeysWithValues: sent.map { ($0.name, $0.value) }) == [
                "response_type": "code", "client_id": "vault-cli", "scope": "openid", "prompt": "login",
                "redirect_uri": TestProvider.redirectURI, "state": request.state, "nonce": request.nonce,
                "code_challenge": AuthorizationRequest.challenge(for: request.verifier),
                "code_challenge_method": "S256",
            ])
        // The redirect is the same as without a pushed request.
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce)))
        let tokens = try await client.redeem(request, callback: "/callback?code=C&state=\(request.state)")
        #expect(tokens.idToken?.subject == "alice")
    }

    @Test func `when a confidential client pushes, then it uses Basic authentication`() async throws {
        let transport = provider.transport()
        let client = OpenIDProvider(
            issuer: TestProvider.issuer, clientID: "conf", clientSecret: "s", transport: transport,
            clock: provider.clock)
        _ = try await request(client)
        let sent = try #require(transport.requests.last)
        #expect(sent.headerFields[.authorization] == "Basic Y29uZjpz")
        #expect(sent.body.contains("client_id=conf&"))
        #expect(!sent.body.contains("client_secret"))
    }

    @Test func `when pushing is unwanted, then the URL does not expire`() async throws {
        let transport = provider.transport()
        let request = try await request(provider.client(transport), mayPush: false)
        #expect(request.url.contains("&state="))
        #expect(request.expiresAt == nil)
        #expect(transport.count(of: Self.endpoint) == 0)
        // Unless the provider insists.
        insist()
        let pushed = try await self.request(provider.client(transport), mayPush: false)
        #expect(pushed.url.contains("request_uri="))
    }

    /// Answers without a code lead to a plain request. The last value is the error if the provider insists on pushed
    /// requests.
    @Test(
        arguments: [
            (#"{"error":"invalid_request"}"#, 400, nil, OpenIDConnectError.Code.refused),
            (#"{"error":"invalid_client"}"#, 401, nil, .refused), ("", 404, nil, .refused), ("", 405, nil, .refused),
            ("", 302, nil, .refused), ("", 500, nil, .unavailable), ("", 429, nil, .unavailable),
            ("<html>", 201, nil, .invalidAnswer), ("{}", 201, nil, .invalidAnswer),
            (#"{"request_uri":""}"#, 201, nil, .invalidAnswer), (#"{"request_uri":"a b"}"#, 201, nil, .invalidAnswer),
            (#"{"error":"access_denied"}"#, 403, .denied, .denied),
        ] as [(String, Int, OpenIDConnectError.Code?, OpenIDConnectError.Code)])
    func `when an optional push fails, then the request is plain`(
        text: String, status: Int, code: OpenIDConnectError.Code?, codeWhenRequired: OpenIDConnectError.Code
    ) async throws {
        answer(text, status: status)
        let transport = provider.transport()
        do {
            let request = try await request(provider.client(transport))
            #expect(code == nil)
            #expect(request.url.contains("&code_challenge="))
            #expect(request.expiresAt == nil)
        } catch let error as OpenIDConnectError {
            #expect(error.code == code)
        }
        #expect(transport.count(of: Self.endpoint) == 1)
        insist()
        let error = await caught { _ = try await request(provider.client()) }
        #expect(error?.code == codeWhenRequired)
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test(
        arguments: [
            (HTTPError.Code.notConnected, OpenIDConnectError.Code.unavailable), (.interrupted, .interrupted),
            (.cancelled, .cancelled),
        ])
    func `when the connection fails while pushing, then the request fails`(
        cause: HTTPError.Code, code: OpenIDConnectError.Code
    ) async {
        provider.set { $0.routes[Self.endpoint] = { _ in throw HTTPError(cause, authority: "id.example") } }
        #expect(await errorCode { _ = try await request(provider.client()) } == code)
    }

    @Test func `when required pushing lacks an endpoint, then the request fails`() async {
        insist()
        provider.set { $0.metadata["pushed_authorization_request_endpoint"] = nil }
        #expect(await errorCode { _ = try await request(provider.client()) } == .invalidAnswer)
    }

    @Test(
        arguments: [("\"90\"", 90), ("0", nil), ("-1", nil), ("true", nil), ("1e300", 86_400)] as [(String, Double?)])
    func `when expires_in is odd, then the expiry is normalized`(text: String, seconds: Double?) async throws {
        answer(#"{"request_uri":"urn:x","expires_in":\#(text)}"#)
        let request = try await request(provider.client())
        #expect(request.expiresAt == seconds.map { provider.clock.now + $0 })
        #expect(request.url.contains("request_uri=urn%3Ax"))
    }
}
