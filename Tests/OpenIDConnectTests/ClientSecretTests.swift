import Foundation
import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

@Suite("Client secrets and revocation")
struct ClientSecretTests {
    let provider = TestProvider()

    private func client(
        _ transport: ScriptedTransport? = nil, secret: String? = "se cret:1", method: String? = nil
    ) -> OpenIDProvider {
        OpenIDProvider(
            issuer: TestProvider.issuer, clientID: "a:b", clientSecret: secret, tokenEndpointAuthMethod: method,
            transport: transport ?? provider.transport(), clock: provider.clock)
    }

    /// The last value says whether the secret goes into the header.
    @Test(
        arguments: [
            (nil, nil, true), (nil, ["client_secret_post", "client_secret_basic"], true),
            (nil, ["client_secret_post"], false), (nil, ["private_key_jwt"], false),
            ("client_secret_post", nil, false), ("client_secret_post", ["client_secret_basic"], false),
            ("client_secret_basic", ["client_secret_post"], true),
        ] as [(String?, [String]?, Bool)])
    func `when methods are registered or announced, then authentication uses them`(
        registered: String?, announced: [String]?, isInHeader: Bool
    ) async throws {
        provider.set { $0.metadata["token_endpoint_auth_methods_supported"] = announced }
        try provider.answer()
        let transport = provider.transport()
        _ = try await client(transport, method: registered).refresh("R", subject: "alice")
        let sent = try #require(transport.requests.last)
        if isInHeader {
            // RFC 6749 section 2.3.1: the client ID and the secret are both form-encoded.
            let pair = Data("a%3Ab:se%20cret%3A1".utf8).base64EncodedString()
            #expect(sent.headerFields[.authorization] == "Basic \(pair)")
            #expect(sent.body == "grant_type=refresh_token&refresh_token=R")
        } else {
            #expect(sent.headerFields[.authorization] == nil)
            #expect(
                sent.body
                    == "grant_type=refresh_token&refresh_token=R&client_id=a%3Ab&client_secret=se%20cret%3A1")
        }
    }

    @Test(arguments: [nil, "client_secret_post"])
    func `when only RFC 8414 names methods, then refreshes use them`(registered: String?) async throws {
        let other = MetadataTests.authorizationServer
        let document = try json([
            "issuer": TestProvider.issuer, "token_endpoint_auth_methods_supported": ["client_secret_post"],
        ])
        provider.set { $0.routes[other] = { _ in .text(document) } }
        try provider.answer()
        let transport = provider.transport()
        _ = try await client(transport, method: registered).refresh("R", subject: "alice")
        let sent = try #require(transport.requests.last)
        #expect(sent.headerFields[.authorization] == nil)
        #expect(sent.body.hasSuffix("&client_secret=se%20cret%3A1"))
        #expect(transport.count(of: other) == (registered == nil ? 1 : 0))
    }

    @Test(arguments: [nil, "", "unused"])
    func `when no secret applies, then the client only names itself`(secret: String?) async throws {
        try provider.answer()
        let transport = provider.transport()
        let client = client(transport, secret: secret, method: secret == "unused" ? "none" : nil)
        _ = try await client.refresh("R", subject: "alice")
        let sent = try #require(transport.requests.last)
        #expect(sent.headerFields[.authorization] == nil)
        #expect(sent.body == "grant_type=refresh_token&refresh_token=R&client_id=a%3Ab")
    }

    @Test func `when requests need authentication, then only they carry the secret`() async throws {
        provider.set {
            $0.metadata["device_authorization_endpoint"] = "https://id.example/device"
            $0.metadata["userinfo_endpoint"] = "https://id.example/userinfo"
        }
        let transport = provider.transport()
        let client = client(transport)
        try await client.revoke("R", hint: "refresh_token")
        _ = try? await client.authorizeDevice(scopes: ["openid"])
        _ = try? await client.userinfo(accessToken: "A", subject: "alice")
        await client.warmUp()
        let withSecret = transport.requests.filter { $0.headerFields[.authorization]?.hasPrefix("Basic ") == true }
        #expect(withSecret.map(\.url) == ["https://id.example/revoke", "https://id.example/device"])
    }

    /// The secret is in the form or in the header. The provider repeats it as sent or as decoded.
    @Test(
        arguments: [
            ("client_secret_basic", "se cret:1"), ("client_secret_basic", "se%20cret%3A1"),
            ("client_secret_basic", "YSUzQWI6c2UlMjBjcmV0JTNBMQ=="), ("client_secret_post", "se cret:1"),
            ("client_secret_post", "se%20cret%3A1"),
        ])
    func `when errors repeat the secret, then their description is dropped`(
        method: String, shape: String
    ) async throws {
        let answer = HTTPAnswer.text(
            try json(["error": "invalid_client", "error_description": "\(shape) is wrong"]), status: 400)
        provider.set {
            $0.metadata["device_authorization_endpoint"] = "https://id.example/device"
            $0.metadata["pushed_authorization_request_endpoint"] = "https://id.example/par"
            $0.metadata["require_pushed_authorization_requests"] = true
            $0.routes["https://id.example/device"] = { _ in answer }
            $0.routes["https://id.example/par"] = { _ in answer }
            $0.token = { _ in answer }
            $0.revocation = answer
        }
        let client = client(method: method)
        let errors = [
            await caught { _ = try await client.refresh("R", subject: "alice") },
            await caught { try await client.revoke("R", hint: "refresh_token") },
            await caught { _ = try await client.authorizeDevice(scopes: ["openid"]) },
            await caught { _ = try await provider.signIn(client) },
        ]
        for error in errors {
            #expect(error?.providerError == "invalid_client")
            #expect(error?.providerDescription == nil)
        }
    }

    @Test func `when a grant is printed, then its secrets stay hidden`() {
        let grants: [OAuthClient.Grant] = [
            .authorizationCode("SECRET", redirectURI: "SECRET", verifier: "SECRET"), .refreshToken("SECRET"),
            .deviceCode("SECRET"), .password("SECRET", username: "SECRET", scopes: ["SECRET"]),
        ]
        var printed = "\(grants)\(grants.map { "\($0)" + String(reflecting: $0) })"
        dump(grants, to: &printed)
        #expect(!printed.contains("SECRET"))
    }

    @Test func `when a client is printed, then its secret stays hidden`() {
        var printed = "\(client())"
        dump(client(), to: &printed)
        #expect(!printed.contains("se cret"))
    }

    @Test(arguments: [401, 403, nil])
    func `when Glewlwyd refuses revocation, then the refresh token is deleted`(status: Int?) async throws {
        provider.set {
            $0.metadata["response_types_supported"] = ["code", "refresh_token"]
            if let status {
                $0.revocation = .text("", status: status)
            } else {
                $0.metadata["revocation_endpoint"] = nil
            }
            $0.token = { _ in .text("") }
        }
        let transport = provider.transport()
        try await provider.client(transport).revoke("R", hint: "refresh_token")
        let sent = try #require(transport.requests.last)
        #expect(sent.url == "https://id.example/token")
        #expect(sent.body == "grant_type=delete_token&refresh_token=R&client_id=vault-cli")
        // No such check exists for access tokens.
        #expect(await errorCode { try await provider.client(transport).revoke("A", hint: "access_token") } != nil)
        #expect(transport.count(of: "https://id.example/token") == 1)
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("", status: 400), OpenIDConnectError.Code.refused),
            (.text(#"{"error":"unsupported_grant_type"}"#, status: 200), .refused),
            (.text("", status: 503), .unavailable),
        ])
    func `when Glewlwyd's deletion fails too, then revoking fails`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        provider.set {
            $0.metadata["response_types_supported"] = ["code", "refresh_token"]
            $0.revocation = .text("", status: 401)
            $0.token = { _ in answer }
        }
        let error = await caught { try await provider.client().revoke("R", hint: "refresh_token") }
        #expect(error?.code == code)
        if code == .refused { #expect(error?.status == 401) }
    }

    @Test func `when another provider refuses revocation, then deletion is skipped`() async {
        provider.set { $0.revocation = .text("", status: 401) }
        let transport = provider.transport()
        let code = await errorCode { try await provider.client(transport).revoke("R", hint: "refresh_token") }
        #expect(code == .refused)
        #expect(transport.count(of: "https://id.example/token") == 0)
    }

    @Test func `when a redirect comes twice, then it is redeemed once`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce)))
        // Somebody else's redirect in between does not end the sign-in.
        #expect(
            await errorCode { _ = try await client.redeem(request, callback: "/callback?code=X&state=Y") }
                == .stateMismatch)
        _ = try await client.redeem(request, callback: callback)
        #expect(await errorCode { _ = try await client.redeem(request, callback: callback) } == .callbackInvalid)
        #expect(transport.count(of: "https://id.example/token") == 1)
    }
}
