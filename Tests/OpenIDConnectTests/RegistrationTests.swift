import Foundation
import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

@Suite("Client registration")
struct RegistrationTests {
    static let endpoint = "https://id.example/register"
    static let client = ClientMetadata(name: "Vault", redirectURIs: ["http://127.0.0.1/callback"])

    let provider = TestProvider()

    init() {
        provider.set { $0.metadata["registration_endpoint"] = Self.endpoint }
        answer(#"{"client_id":"dyn-1"}"#)
    }

    private func answer(_ text: String, status: Int = 201) {
        provider.set { $0.routes[Self.endpoint] = { _ in .text(text, status: status) } }
    }

    /// A client that has no client ID yet.
    private func unregistered(_ transport: ScriptedTransport? = nil) -> OpenIDProvider {
        OpenIDProvider(
            issuer: TestProvider.issuer, clientID: "", transport: transport ?? provider.transport(),
            clock: provider.clock)
    }

    private func sent(_ transport: ScriptedTransport) throws -> [String: Any] {
        let request = try #require(transport.requests.last)
        #expect(request.method == .post)
        #expect(request.url == Self.endpoint)
        #expect(request.headerFields[.contentType] == "application/json")
        return try #require(try JSONSerialization.jsonObject(with: Data(request.body.utf8)) as? [String: Any])
    }

    @Test func `when a native app registers, then no secret is requested`() async throws {
        let transport = provider.transport()
        let registered = try await unregistered(transport).registerClient(Self.client)
        #expect(registered.clientID == "dyn-1")
        #expect(registered.clientSecret == nil)
        #expect(registered.redirectURIs == ["http://127.0.0.1/callback"])
        let sent = try sent(transport)
        #expect(
            Set(sent.keys) == [
                "client_name", "redirect_uris", "application_type", "response_types", "grant_types",
                "token_endpoint_auth_method",
            ])
        #expect(sent["client_name"] as? String == "Vault")
        #expect(sent["redirect_uris"] as? [String] == ["http://127.0.0.1/callback"])
        #expect(sent["application_type"] as? String == "native")
        #expect(sent["response_types"] as? [String] == ["code"])
        #expect(sent["grant_types"] as? [String] == ["authorization_code", "refresh_token"])
        #expect(sent["token_endpoint_auth_method"] as? String == "none")
        #expect(transport.requests.last?.headerFields[.authorization] == nil)
    }

    @Test func `when all metadata is given, then the request contains it`() async throws {
        provider.set {
            $0.metadata["device_authorization_endpoint"] = "https://id.example/device"
            $0.metadata["grant_types_supported"] = ["authorization_code", DeviceAuthorization.grantType]
        }
        var client = Self.client
        client.postLogoutRedirectURIs = ["http://127.0.0.1/bye"]
        client.scopes = ["openid", "email"]
        let transport = provider.transport()
        _ = try await unregistered(transport).registerClient(client, initialAccessToken: "INITIAL")
        let sent = try sent(transport)
        #expect(
            sent["grant_types"] as? [String] == [
                "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ])
        #expect(sent["post_logout_redirect_uris"] as? [String] == ["http://127.0.0.1/bye"])
        #expect(sent["scope"] as? String == "openid email")
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer INITIAL")
    }

    @Test func `when the provider is Glewlwyd, then registration uses its terms`() async throws {
        provider.set {
            $0.metadata["device_authorization_endpoint"] = "https://id.example/device"
            $0.metadata["grant_types_supported"] = ["authorization_code", DeviceAuthorization.grantType]
            $0.metadata["response_types_supported"] = ["code", "refresh_token"]
        }
        let transport = provider.transport()
        _ = try await unregistered(transport).registerClient(Self.client)
        let sent = try sent(transport)
        #expect(
            sent["grant_types"] as? [String] == [
                "authorization_code", "refresh_token", "device_authorization", "delete_token",
            ])
        #expect(sent["client_confidential"] as? Bool == false)
    }

    @Test func `when registration succeeds, then the provider's decisions are returned`() async throws {
        answer(
            """
            {"client_id":"dyn-1","client_secret":"SECRET","client_secret_expires_at":1900000000,\
            "token_endpoint_auth_method":"client_secret_post","redirect_uris":["http://127.0.0.1/other"],\
            "registration_client_uri":"https://id.example/register/dyn-1","registration_access_token":"MANAGE"}
            """, status: 200)
        let registered = try await unregistered().registerClient(Self.client)
        #expect(registered.clientSecret == "SECRET")
        #expect(registered.secretExpiresAt == Date(timeIntervalSince1970: 1_900_000_000))
        #expect(registered.tokenEndpointAuthMethod == "client_secret_post")
        #expect(registered.redirectURIs == ["http://127.0.0.1/other"])
        #expect(registered.registrationClientURI == "https://id.example/register/dyn-1")
        #expect(registered.registrationAccessToken == "MANAGE")
        var printed = "\(registered)\(String(reflecting: registered))"
        dump(registered, to: &printed)
        for secret in ["SECRET", "MANAGE"] { #expect(!printed.contains(secret)) }
    }

    @Test func `when client_secret_expires_at is 0, then the secret never expires`() async throws {
        answer(#"{"client_id":"dyn-1","client_secret":"SECRET","client_secret_expires_at":0}"#)
        let registered = try await unregistered().registerClient(Self.client)
        #expect(registered.clientSecret == "SECRET")
        #expect(registered.secretExpiresAt == nil)
    }

    @Test func `when authentication is none, then a given secret is dropped`() async throws {
        answer(#"{"client_id":"dyn-1","client_secret":"SECRET","token_endpoint_auth_method":"none"}"#)
        #expect(try await unregistered().registerClient(Self.client).clientSecret == nil)
    }

    @Test func `when the management URL is unsafe, then it is dropped`() async throws {
        answer(
            #"{"client_id":"d","registration_client_uri":"http://id.example/r","registration_access_token":"MANAGE"}"#)
        let registered = try await unregistered().registerClient(Self.client)
        #expect(registered.registrationClientURI == nil)
        #expect(registered.registrationAccessToken == nil)
    }

    @Test(
        arguments: [
            (
                HTTPAnswer.text(#"{"error":"invalid_redirect_uri"}"#, status: 400), OpenIDConnectError.Code.refused,
                false
            ),
            (.text("", status: 401), .refused, false), (.text("", status: 403), .refused, false),
            (.text("", status: 503), .unavailable, true), (.text("<html>", status: 201), .invalidAnswer, true),
            (.text("{}", status: 201), .invalidAnswer, true), (.text(#"{"client_id":""}"#), .invalidAnswer, true),
            (.text(#"{"client_id":"a\nb"}"#), .invalidAnswer, true), (.text(#"{"client_id":7}"#), .invalidAnswer, true),
        ])
    func `when registration fails, then the error code tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code, mayHaveBeenProcessed: Bool
    ) async {
        provider.set { $0.routes[Self.endpoint] = { _ in answer } }
        let transport = provider.transport()
        let error = await caught { _ = try await unregistered(transport).registerClient(Self.client) }
        #expect(error?.code == code)
        #expect(error?.status == answer.status.code)
        #expect(error?.mayHaveBeenProcessed == mayHaveBeenProcessed)
        #expect(transport.count(of: Self.endpoint) == 1)
    }

    @Test func `when registration is impossible, then no request is sent`() async {
        provider.set { $0.metadata["registration_endpoint"] = nil }
        let transport = provider.transport()
        let client = unregistered(transport)
        #expect(await errorCode { _ = try await client.registerClient(Self.client) } == .unsupported)
        for uris in [[], ["http://app.example/callback"]] {
            let code = await errorCode { _ = try await client.registerClient(.init(name: "x", redirectURIs: uris)) }
            #expect(code == .configurationInvalid)
        }
        #expect(!transport.requests.contains { $0.method == .post })
    }
}
