import Foundation
import Testing
import VaultBase

@testable import OpenIDConnect

@Suite("Authorization request and redirect")
struct AuthorizationTests {
    @Test func `when RFC 7636's verifier is given, then the challenge matches`() {
        let challenge = AuthorizationRequest.challenge(for: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `when a request starts, then its URL has all parameters`() async throws {
        let request = try await TestProvider().client().authorizationRequest(
            redirectURI: TestProvider.redirectURI, scopes: ["openid", "a+b"],
            parameters: SignInParameters(prompt: "consent"))
        let components = try #require(URLComponents(string: request.url))
        #expect(components.host == "id.example")
        #expect(components.path == "/auth")
        let items = Dictionary(uniqueKeysWithValues: (components.queryItems ?? []).map { ($0.name, $0.value ?? "") })
        #expect(
            items == [
                "tenant": "1", "response_type": "code", "client_id": "vault-cli", "scope": "openid a+b",
                "redirect_uri": TestProvider.redirectURI, "state": request.state, "nonce": request.nonce,
                "code_challenge": AuthorizationRequest.challenge(for: request.verifier),
                "code_challenge_method": "S256", "prompt": "consent",
            ])
        #expect(request.url.contains("scope=openid%20a%2Bb"))
        for value in [request.state, request.nonce, request.verifier] {
            #expect(Base64URL.decode(value)?.count == 32)
            #expect(value.count == 43)
        }
    }

    @Test func `when two requests are made, then all their secrets differ`() async throws {
        let client = TestProvider().client()
        let one = try await client.authorizationRequest(redirectURI: TestProvider.redirectURI, scopes: ["openid"])
        let two = try await client.authorizationRequest(redirectURI: TestProvider.redirectURI, scopes: ["openid"])
        #expect(Set([one.state, one.nonce, one.verifier, two.state, two.nonce, two.verifier]).count == 6)
        var dumped = "\(one) \(String(reflecting: one))"
        dump(one, to: &dumped)
        for secret in [one.state, one.nonce, one.verifier] { #expect(!dumped.contains(secret)) }
    }

    @Test(
        arguments: [
            (["plain"], OpenIDConnectError.Code.unsupported), ([], .unsupported), (["plain", "S256"], nil), (nil, nil),
        ])
    func `when announced PKCE methods lack S256, then the request fails`(
        methods: [String]?, code: OpenIDConnectError.Code?
    ) async {
        let provider = TestProvider()
        provider.set { $0.metadata["code_challenge_methods_supported"] = methods }
        let thrown = await errorCode {
            _ = try await provider.client().authorizationRequest(
                redirectURI: TestProvider.redirectURI, scopes: ["openid"])
        }
        #expect(thrown == code)
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:8765/callback", true), ("https://app.example/cb", true), ("com.example.app:/cb", true),
            ("http://app.example/cb", false), ("/callback", false), ("http://127.0.0.1/cb#x", false), ("", false),
        ])
    func `when a redirect URI is unsafe, then it is refused`(uri: String, isUsable: Bool) async {
        let code = await errorCode {
            _ = try await TestProvider().client().authorizationRequest(redirectURI: uri, scopes: ["openid"])
        }
        #expect(code == (isUsable ? nil : .configurationInvalid))
    }

    @Test func `when the scope lacks openid, then the request is refused`() async {
        let code = await errorCode {
            _ = try await TestProvider().client().authorizationRequest(
                redirectURI: TestProvider.redirectURI, scopes: ["profile"])
        }
        #expect(code == .configurationInvalid)
    }

    /// STATE stands for the right state.
    @Test(
        arguments: [
            ("/callback?code=CODE&state=STATE", nil),
            ("http://127.0.0.1:8765/callback?state=STATE&code=CODE#frag", nil),
            ("/callback?code=CODE&state=STATE&session_state=x&scope=openid%20a", nil),
            ("/callback?code=CODE&state=STATE&iss=https%3A%2F%2Fid.example%2Frealm", nil),
            ("/callback?code=CODE&state=STATE&iss=https%3A%2F%2Fevil.example", .callbackInvalid),
            ("/callback?code=CODE&state=STATE&iss=", .callbackInvalid),
            ("/callback?code=CODE&state=other", .stateMismatch), ("/callback?code=CODE&state=", .stateMismatch),
            ("/callback?code=CODE", .stateMismatch), ("/callback?error=access_denied", .stateMismatch),
            ("/callback?code=CODE&code=CODE&state=STATE", .callbackInvalid),
            ("/callback?code=CODE&state=STATE&state=STATE", .stateMismatch),
            ("/callback?code=CODE&state=STATE&%63ode=OTHER", .callbackInvalid),
            ("/callback?error=a&error=b&state=STATE", .callbackInvalid),
            ("/callback?error=access_denied&error_description=a&error_description=b&state=STATE", .callbackInvalid),
            ("/callback?iss=https%3A%2F%2Fid.example%2Frealm&iss=x&code=CODE&state=STATE", .callbackInvalid),
            ("/callback?code=CODE&error=access_denied&state=STATE", .callbackInvalid),
            ("/callback?code=&error=access_denied&state=STATE", .denied),
            ("/callback?code=&code=&error=access_denied&state=STATE", .callbackInvalid),
            ("/callback?code=&state=STATE", .callbackInvalid), ("/callback?state=STATE", .callbackInvalid),
            ("/callback?code=A%0AB&state=STATE", .callbackInvalid),
            ("/callback?code=%C3%A9&state=STATE", .callbackInvalid),
            ("/callback?code=%ZZ&state=STATE", .stateMismatch), ("/callback?code=%C3&state=STATE", .stateMismatch),
            ("/callback?code=CODE%2&state=STATE", .stateMismatch),
            ("/callback", .stateMismatch), ("", .stateMismatch), ("/callback?", .stateMismatch),
            ("/callback?error=access_denied&error_description=No%20way&state=STATE", .denied),
            ("/callback?error=login_required&state=STATE", .refused),
            ("/callback?error=temporarily_unavailable&state=STATE", .unavailable),
            ("/callback?error=access_denied&state=STATE&iss=https%3A%2F%2Fevil.example", .callbackInvalid),
        ] as [(String, OpenIDConnectError.Code?)])
    func `when a redirect is faulty, then no code is returned`(
        template: String, code: OpenIDConnectError.Code?
    ) async throws {
        let client = TestProvider().client()
        let request = try await client.authorizationRequest(redirectURI: TestProvider.redirectURI, scopes: ["openid"])
        let callback = template.replacingOccurrences(of: "STATE", with: request.state)
        do {
            let found = try request.code(in: callback)
            #expect(code == nil)
            #expect(found == "CODE")
        } catch let error as OpenIDConnectError {
            #expect(error.code == code)
            #expect(!error.description.contains("CODE"))
        }
    }

    @Test func `when the announced iss is missing, then the sign-in fails`() async throws {
        let provider = TestProvider()
        provider.set { $0.metadata["authorization_response_iss_parameter_supported"] = true }
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        #expect(await errorCode { _ = try await client.redeem(request, callback: callback) } == .callbackInvalid)
    }

    @Test func `when the provider's words are unsafe, then they are cleaned`() async throws {
        let provider = TestProvider()
        let client = provider.client()
        let (request, _) = try await provider.signIn(client)
        let callback =
            "/callback?state=\(request.state)&error=x%1B%5B31m&error_description=a%1B%0D%0A%E2%80%AEb"
            + String(repeating: "c", count: 500)
        let error = await caught { _ = try await client.redeem(request, callback: callback) }
        #expect(error?.providerError == "x[31m")
        #expect(error?.providerDescription == "ab" + String(repeating: "c", count: 198))
    }
}
