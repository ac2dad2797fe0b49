import Foundation
import Testing
import VaultHTTP

@testable import OpenIDConnect

@Suite("Parameters of a sign-in")
struct SignInParametersTests {
    static let all = SignInParameters(
        prompt: "login consent", loginHint: "alice@example.com", acrValues: "gold silver", uiLocales: "da en",
        audience: "https://api.example.com/", additionalParameters: ["hd": "example.com", "access_type": "offline"])
    static let sent = [
        "prompt": "login consent", "login_hint": "alice@example.com", "acr_values": "gold silver",
        "ui_locales": "da en", "audience": "https://api.example.com/", "hd": "example.com", "access_type": "offline",
    ]

    let provider = TestProvider()

    private func request(
        _ parameters: SignInParameters, _ transport: ScriptedTransport? = nil
    ) async throws -> AuthorizationRequest {
        try await provider.client(transport).authorizationRequest(
            redirectURI: TestProvider.redirectURI, scopes: ["openid"], parameters: parameters)
    }

    /// The parameters of a query or form. Each name occurs once.
    private func decoded(_ text: some StringProtocol) throws -> [String: String] {
        let pairs = try #require(FormParameters.decode(text))
        return try Dictionary(pairs.map { ($0.name, $0.value) }) { _, _ in
            throw OpenIDConnectError(.callbackInvalid, "twice")
        }
    }

    @Test func `when parameters are set, then the URL contains them`() async throws {
        let request = try await request(Self.all)
        let query = try decoded(try #require(request.url.split(separator: "?").last))
        for (name, value) in Self.sent { #expect(query[name] == value) }
        #expect(query["state"] == request.state && query["redirect_uri"] == TestProvider.redirectURI)
    }

    @Test func `when parameters are pushed, then only the provider gets them`() async throws {
        let endpoint = "https://id.example/par"
        provider.set {
            $0.metadata["pushed_authorization_request_endpoint"] = endpoint
            $0.routes[endpoint] = { _ in .text(#"{"request_uri":"urn:x","expires_in":90}"#, status: 201) }
        }
        let transport = provider.transport()
        let request = try await request(Self.all, transport)
        #expect(request.url == "https://id.example/auth?tenant=1&client_id=vault-cli&request_uri=urn%3Ax")
        let form = try decoded(try #require(transport.requests.last).body)
        for (name, value) in Self.sent { #expect(form[name] == value) }
    }

    @Test(arguments: ["login", "none"])
    func `when devices sign in, then only prompt none is dropped`(prompt: String) async throws {
        provider.set { $0.metadata["device_authorization_endpoint"] = "https://id.example/device" }
        let transport = provider.transport()
        var parameters = Self.all
        parameters.prompt = prompt
        _ = try? await provider.client(transport).authorizeDevice(scopes: ["openid"], parameters: parameters)
        let form = try decoded(try #require(transport.requests.last).body)
        var sent = Self.sent
        sent["prompt"] = prompt == "none" ? nil : prompt
        #expect(form == sent.merging(["scope": "openid", "client_id": "vault-cli"]) { own, _ in own })
    }

    @Test(
        arguments: [
            "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "request", "request_uri", "registration", "dpop_jkt", "client_secret",
            "client_assertion", "client_assertion_type", "grant_type", "code", "code_verifier", "device_code",
            "refresh_token", "username", "password", "Redirect_URI", "prompt", "login_hint", "acr_values", "ui_locales",
            "audience", "AUDIENCE",
        ])
    func `when reserved parameters are set, then the error names them`(name: String) async {
        provider.set { $0.metadata["device_authorization_endpoint"] = "https://id.example/device" }
        let transport = provider.transport()
        let parameters = SignInParameters(additionalParameters: ["good": "1", name: "x"])
        let errors = [
            await caught { _ = try await request(parameters, transport) },
            await caught {
                _ = try await provider.client(transport).authorizeDevice(scopes: ["openid"], parameters: parameters)
            },
        ]
        for error in errors {
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains(" \(name) ") == true)
        }
        #expect(transport.requests.isEmpty, "nobody is asked")
    }

    @Test(arguments: ["", "a b", "a&b", "a=b", "ä", "a\n", String(repeating: "a", count: 101)])
    func `when a parameter's name is invalid, then it is refused`(name: String) async {
        let code = await errorCode { _ = try await request(SignInParameters(additionalParameters: [name: "1"])) }
        #expect(code == .configurationInvalid)
    }

    @Test func `when a parameter's value is invalid, then it is refused`() async {
        for parameters in [
            SignInParameters(prompt: "none login"), SignInParameters(loginHint: "a\nb"),
            SignInParameters(additionalParameters: ["hd": "a\u{0}"]),
        ] {
            #expect(await errorCode { _ = try await request(parameters) } == .configurationInvalid)
        }
    }

    @Test func `when a text is empty, then the parameter is omitted`() async throws {
        let own = SignInParameters(prompt: "", loginHint: "bob", additionalParameters: ["hd": "", "more": "1"])
        let merged = own.over(Self.all)
        var expected = Self.sent
        expected["prompt"] = nil
        expected["hd"] = nil
        expected["login_hint"] = "bob"
        expected["more"] = "1"
        #expect(try decoded(FormParameters.encode(merged.form)) == expected)
        #expect(SignInParameters().form.isEmpty)
    }

    @Test(
        arguments: [
            ("login_required", "nobody is logged in"), ("interaction_required", "do something"),
            ("consent_required", "allow"), ("account_selection_required", "choose an account"),
        ])
    func `when prompt none needs interaction, then the error says so`(error: String, words: String) async throws {
        for prompt in ["none", "login"] {
            let client = provider.client()
            let request = try await client.authorizationRequest(
                redirectURI: TestProvider.redirectURI, scopes: ["openid"],
                parameters: SignInParameters(prompt: prompt))
            let caught = await caught {
                _ = try await client.redeem(request, callback: "/callback?error=\(error)&state=\(request.state)")
            }
            #expect(caught?.code == (prompt == "none" ? .interactionRequired : .refused))
            #expect(caught?.providerError == error)
            #expect(caught?.description.contains(words) == (prompt == "none"))
            #expect(caught?.description.contains("prompt=none") == (prompt == "none"))
        }
    }
}
