import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("Token endpoint")
struct TokenEndpointTests {
    let provider = TestProvider()

    @Test func `when a code is redeemed, then the tokens are returned`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(
            idToken: provider.key.token(provider.claims(nonce: request.nonce)),
            ["scope": "openid", "token_type": "bEARER"])
        let tokens = try await client.redeem(request, callback: callback)
        #expect(tokens.accessToken == "ACCESS")
        #expect(tokens.refreshToken == "REFRESH")
        #expect(tokens.scope == "openid")
        #expect(tokens.tokenType == "bEARER")
        #expect(tokens.expiresAt == provider.clock.now + 60)
        #expect(tokens.idToken?.subject == "alice")
        #expect(tokens.idToken?.email == "alice@id.example")
        #expect(tokens.idToken?.preferredUsername == "al")
        #expect(tokens.idToken?.expiresAt == provider.clock.now + 300)
        let claims = try JSONSerialization.jsonObject(with: Data(tokens.idToken?.claimsJSON ?? [])) as? [String: Any]
        #expect(claims?["name"] as? String == "Alice")

        let sent = try #require(transport.requests.first { $0.method == .post })
        #expect(sent.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(sent.headerFields[.authorization] == nil)
        #expect(
            sent.body
                == "grant_type=authorization_code&code=CODE&redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fcallback"
                + "&code_verifier=\(request.verifier)&client_id=vault-cli")
        var printed = "\(tokens)\(String(reflecting: tokens))"
        dump(tokens, to: &printed)
        for secret in ["ACCESS", "REFRESH", "alice"] { #expect(!printed.contains(secret)) }
    }

    @Test func `when the redirect is wrong, then no code is redeemed`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, _) = try await provider.signIn(client)
        #expect(await errorCode { _ = try await client.redeem(request, callback: "/callback?code=C&state=x") } != nil)
        #expect(!transport.requests.contains { $0.method == .post })
    }

    @Test func `when the ID token is missing, then the sign-in fails`() async throws {
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        try provider.answer()
        let error = await caught { _ = try await client.redeem(request, callback: callback) }
        #expect(error?.code == .invalidAnswer)
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test func `when a token is refreshed, then the request is minimal`() async throws {
        try provider.answer()
        let transport = provider.transport()
        let tokens = try await provider.client(transport).refresh("R&1=", subject: "alice")
        #expect(tokens.refreshToken == "REFRESH")
        #expect(tokens.idToken == nil)
        #expect(
            transport.requests.last?.body == "grant_type=refresh_token&refresh_token=R%261%3D&client_id=vault-cli")
    }

    @Test(arguments: ["", #","refresh_token":null"#, #","refresh_token":"""#])
    func `when no new refresh token comes, then none is returned`(member: String) async throws {
        provider.set { $0.token = { _ in .text(#"{"access_token":"A","token_type":"Bearer"\#(member)}"#) } }
        #expect(try await provider.client().refresh("R", subject: "alice").refreshToken == nil)
    }

    @Test func `when a refresh names another subject, then it is refused`() async throws {
        try provider.answer(idToken: provider.key.token(provider.claims()))
        let client = provider.client()
        #expect(try await client.refresh("R", subject: "alice").idToken?.subject == "alice")
        let error = await caught { _ = try await client.refresh("R", subject: "bob") }
        #expect(error?.code == .tokenInvalid)
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test func `when keys are unreachable, then the new refresh token survives`() async throws {
        try provider.answer(idToken: provider.key.token(provider.claims()))
        let client = provider.client()
        _ = try await client.metadata()
        provider.set { $0.gate = { throw HTTPError(.notConnected, authority: "id.example") } }
        let tokens = try await client.refresh("R", subject: "alice")
        #expect(tokens.refreshToken == "REFRESH")
        #expect(tokens.idToken == nil)
    }

    @Test func `when the client is warm, then refreshing needs one request`() async throws {
        try provider.answer(idToken: provider.key.token(provider.claims()))
        let transport = provider.transport()
        let client = provider.client(transport)
        await client.warmUp()
        #expect(transport.requests.count == 2)
        #expect(try await client.refresh("R", subject: "alice").idToken != nil)
        #expect(transport.requests.count == 3)
    }

    @Test(
        arguments: [
            ("3600", 3600), ("\"3600\"", 3600), ("59.5", 59.5), ("\"59.5\"", 59.5), ("0", 0), ("-5", 0), ("1e3", 1000),
            ("1e300", nil), ("9999999999", nil), ("\"soon\"", nil), ("null", nil), ("true", nil), ("[60]", nil),
            ("\"nan\"", nil), ("\"inf\"", nil),
        ] as [(String, Double?)])
    func `when expires_in is spelled oddly, then the expiry is normalized`(
        text: String, seconds: Double?
    ) async throws {
        let body = #"{"access_token":"A","token_type":"Bearer","expires_in":\#(text)}"#
        provider.set { $0.token = { _ in .text(body) } }
        let tokens = try await provider.client().refresh("R", subject: "alice")
        #expect(tokens.expiresAt == seconds.map { provider.clock.now + $0 })
    }

    @Test func `when answers are slow, then lifetimes count from the request`() async throws {
        let sentAt = provider.clock.now
        let clock = provider.clock
        provider.set {
            $0.token = { _ in
                clock.advance(by: 20)
                return .text(#"{"access_token":"A","expires_in":60}"#)
            }
        }
        #expect(try await provider.client().refresh("R", subject: "alice").expiresAt == sentAt + 60)
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("", status: 400), OpenIDConnectError.Code.invalidGrant, false),
            (.text(#"{"error":"invalid_grant","error_description":"dead"}"#, status: 400), .invalidGrant, false),
            (.text(#"{"error":"invalid_grant"}"#, status: 401), .invalidGrant, false),
            (.text(#"{"error":"invalid_grant"}"#, status: 200), .invalidGrant, false),
            (.text(#"{"error":"invalid_request"}"#, status: 400), .refused, false),
            (.text(#"{"error":"invalid_client"}"#, status: 401), .refused, false),
            (.text(#"{"error":"unauthorized_client"}"#, status: 400), .refused, false),
            (.text("", status: 403), .refused, false), (.text("", status: 401), .refused, false),
            (.text("<html>no</html>", status: 400), .refused, false), (.text("", status: 302), .invalidAnswer, false),
            (.text(#"{"error":"access_denied"}"#, status: 403), .denied, false),
            (.text("<html>oops</html>", status: 500), .unavailable, true), (.text("", status: 502), .unavailable, true),
            (.text("", status: 429), .unavailable, false),
            (.text(#"{"error":"temporarily_unavailable"}"#, status: 400), .unavailable, true),
            (.text("", status: 200), .invalidAnswer, true), (.text("<html>", status: 200), .invalidAnswer, true),
            (.text("[]", status: 200), .invalidAnswer, true), (.text("{}", status: 200), .invalidAnswer, true),
            (.text(#"{"access_token":""}"#, status: 200), .invalidAnswer, true),
            (.text(#"{"access_token":7}"#, status: 200), .invalidAnswer, true),
            (.text(#"{"access_token":"a\nb"}"#, status: 200), .invalidAnswer, true),
            (.text(#"{"access_token":"a b"}"#, status: 200), .invalidAnswer, true),
            (.text(#"{"access_token":"A","token_type":"DPoP"}"#, status: 200), .unsupported, true),
        ])
    func `when a refresh fails, then the error code tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code, mayHaveBeenProcessed: Bool
    ) async {
        provider.set { $0.token = { _ in answer } }
        let transport = provider.transport()
        let error = await caught { _ = try await provider.client(transport).refresh("SECRET", subject: "alice") }
        #expect(error?.code == code)
        #expect(error?.mayHaveBeenProcessed == mayHaveBeenProcessed)
        #expect(error?.isFinal == (code == .invalidGrant && !answer.body.isEmpty), "a proxy sends empty answers, too")
        #expect(error?.status == answer.status.code)
        #expect(error?.description.contains("SECRET") == false)
        // Nothing is retried or followed.
        #expect(transport.count(of: "https://id.example/token") == 1)
    }

    @Test(arguments: [nil, "", 7, "a\nb"] as [(any Sendable)?])
    func `when access tokens are invalid, then refresh tokens are kept`(value: (any Sendable)?) async throws {
        try provider.answer(["access_token": value ?? NSNull()])
        let kept = Lock<[String?]>([])
        let error = await caught {
            _ = try await provider.client().refresh("R", subject: "alice") { token, _ in
                kept.withLock { $0.append(token) }
            }
        }
        #expect(error?.code == .invalidAnswer)
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(kept.withLock { $0 } == ["REFRESH"])
    }

    @Test(arguments: ["{}", #"{"scope":"openid"}"#, "[]"])
    func `when an answer has no token, then nothing is kept`(text: String) async {
        provider.set { $0.token = { _ in .text(text) } }
        let keeps = Counter()
        let error = await caught {
            _ = try await provider.client().refresh("R", subject: "alice") { _, _ in keeps.increment() }
        }
        #expect(error?.code == .invalidAnswer)
        #expect(keeps.value == 0)
    }

    @Test func `when the description repeats a secret, then it is omitted`() async throws {
        provider.set {
            $0.token = { _ in .text(#"{"error":"invalid_grant","error_description":"no SECRET-TOKEN"}"#, status: 400) }
        }
        let error = await caught { _ = try await provider.client().refresh("SECRET-TOKEN", subject: "alice") }
        #expect(error?.providerError == "invalid_grant")
        #expect(error?.providerDescription == nil)
        let other = await caught { _ = try await provider.client().refresh("OTHER-TOKEN", subject: "alice") }
        #expect(other?.providerDescription == "no SECRET-TOKEN")
        let password = await caught {
            _ = try await provider.client().signIn(username: "a", password: "no", scopes: ["openid"])
        }
        #expect(password?.code == .wrongCredentials)
        #expect(password?.providerDescription == nil)
    }

    @Test(arguments: [(true, OpenIDConnectError.Code.invalidGrant), (false, .refused)])
    func `when invalid_request answers a refresh, then only Glewlwyd means expiry`(
        isGlewlwyd: Bool, code: OpenIDConnectError.Code
    ) async {
        provider.set {
            $0.metadata["response_types_supported"] = isGlewlwyd ? ["code", "refresh_token"] : ["code"]
            $0.token = { _ in .text(#"{"error":"invalid_request"}"#, status: 400) }
        }
        let error = await caught { _ = try await provider.client().refresh("R", subject: "alice") }
        #expect(error?.code == code)
        #expect(error?.isFinal == isGlewlwyd)
        #expect(error?.mayHaveBeenProcessed == false)
        // An empty answer is Glewlwyd's own.
        provider.set { $0.token = { _ in .text("", status: 400) } }
        let empty = await caught { _ = try await provider.client().refresh("R", subject: "alice") }
        #expect(empty?.code == .invalidGrant && empty?.isFinal == isGlewlwyd)
    }

    @Test func `when invalid_request answers a code, then the sign-in is refused`() async throws {
        let client = provider.client()
        let (request, callback) = try await provider.signIn(client)
        provider.set { $0.token = { _ in .text(#"{"error":"invalid_request"}"#, status: 400) } }
        #expect(await errorCode { _ = try await client.redeem(request, callback: callback) } == .refused)
    }

    @Test(
        arguments: [
            (HTTPError.Code.notConnected, OpenIDConnectError.Code.unavailable, false),
            (.interrupted, .interrupted, true), (.timedOut, .timedOut, true),
            (.answerTooLarge, .invalidAnswer, true), (.cancelled, .cancelled, true),
            (.forbiddenURL, .configurationInvalid, false),
        ])
    func `when the connection breaks, then possible processing is reported`(
        cause: HTTPError.Code, code: OpenIDConnectError.Code, mayHaveBeenProcessed: Bool
    ) async {
        provider.set { $0.token = { _ in throw HTTPError(cause, authority: "id.example") } }
        let error = await caught { _ = try await provider.client().refresh("R", subject: "alice") }
        #expect(error?.code == code)
        #expect(error?.mayHaveBeenProcessed == mayHaveBeenProcessed)
    }

    @Test func `when discovery breaks, then the refresh token counts as unused`() async {
        provider.set { $0.gate = { throw HTTPError(.interrupted, authority: "id.example") } }
        let error = await caught { _ = try await provider.client().refresh("R", subject: "alice") }
        #expect(error?.code == .interrupted)
        #expect(error?.mayHaveBeenProcessed == false)
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("", status: 200), nil), (.text(#"{"error":"invalid_client"}"#, status: 401), .refused),
            (.text("", status: 404), .refused), (.text("", status: 503), .unavailable),
            (.text(#"{"error":"unsupported_token_type"}"#, status: 400), .unsupported),
        ] as [(HTTPAnswer, OpenIDConnectError.Code?)])
    func `when a revocation is answered, then the error code matches`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code?
    ) async {
        provider.set { $0.revocation = answer }
        let transport = provider.transport()
        let error = await caught { try await provider.client(transport).revoke("R", hint: "refresh_token") }
        #expect(error?.code == code)
        #expect(transport.requests.last?.body == "token=R&token_type_hint=refresh_token&client_id=vault-cli")
        if code == .refused { #expect(error?.status == answer.status.code) }
    }

    @Test func `when revocation has no endpoint, then it is unsupported`() async {
        provider.set { $0.metadata["revocation_endpoint"] = nil }
        #expect(await errorCode { try await provider.client().revoke("R", hint: "refresh_token") } == .unsupported)
    }
}
