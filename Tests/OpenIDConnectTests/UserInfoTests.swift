import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("User information")
struct UserInfoTests {
    static let endpoint = "https://id.example/userinfo"
    static let plain = #"{"sub":"alice","email":"alice@id.example","email_verified":true,"name":"Alice"}"#

    let provider = TestProvider()

    init() {
        provider.set { $0.metadata["userinfo_endpoint"] = Self.endpoint }
        answer(Self.plain)
    }

    private func answer(_ text: String, status: Int = 200, type: String? = nil, challenge: String? = nil) {
        provider.set {
            $0.routes[Self.endpoint] = { _ in
                var answer = HTTPAnswer.text(text, status: status)
                answer.headerFields[.contentType] = type
                answer.headerFields[.wwwAuthenticate] = challenge
                return answer
            }
        }
    }

    private func error(_ client: OpenIDProvider? = nil, key: DPoPKey? = nil) async -> OpenIDConnectError? {
        await caught {
            _ = try await (client ?? provider.client()).userinfo(accessToken: "SECRET", subject: "alice", dpopKey: key)
        }
    }

    @Test func `when the provider answers, then the claims are returned`() async throws {
        answer(Self.plain, type: "application/json; charset=utf-8")
        let transport = provider.transport()
        let info = try await provider.client(transport).userinfo(accessToken: "SECRET", subject: "alice")
        #expect(info.subject == "alice")
        #expect(info.email == "alice@id.example")
        #expect(info.emailVerified == true)
        #expect(info.preferredUsername == nil)
        #expect(info.name == "Alice")
        #expect(String(decoding: info.claimsJSON, as: UTF8.self) == Self.plain)
        let request = try #require(transport.requests.last)
        #expect(request.method == .get)
        #expect(request.headerFields[.authorization] == "Bearer SECRET")
        #expect(request.headerFields[.dpop] == nil)
        var printed = "\(info)\(String(reflecting: info))"
        dump(info, to: &printed)
        #expect(!printed.lowercased().contains("alice"))
    }

    @Test(
        arguments: [
            #"{"sub":"bob","email":"a"}"#, #"{"email":"a"}"#, #"{"sub":null}"#, #"{"sub":["alice"]}"#,
            #"{"sub":"Alice"}"#, #"{"sub":"alice "}"#, #"{"sub":"bob","sub":"alice"}"#,
            #"{"sub":"alice","sub":"bob"}"#, "[]", "", "<html>",
        ])
    func `when the answer names another person, then it is refused`(text: String) async {
        answer(text)
        let error = await error()
        #expect(error?.code == .userInfoInvalid)
        #expect(error?.mayHaveBeenProcessed == false)
        #expect(error?.description.contains("bob") == false)
    }

    @Test(
        arguments: [
            [:], ["iss": TestProvider.issuer, "aud": TestProvider.clientID], ["aud": ["x", TestProvider.clientID]],
        ] as [[String: any Sendable]])
    func `when signed information is right, then it is accepted`(claims: [String: any Sendable]) async throws {
        let all = (["sub": "alice", "name": "Alice"] as [String: Any]).merging(claims) { $1 }
        answer(try provider.key.token(all), type: "application/jwt")
        let info = try await provider.client().userinfo(accessToken: "SECRET", subject: "alice")
        #expect(info.name == "Alice")
        #expect(JSONValue(objectIn: info.claimsJSON)?["sub"]?.string == "alice")
    }

    @Test(
        arguments: [
            ["sub": "bob"], ["sub": nil], ["iss": "https://evil.example"], ["iss": 7], ["aud": "other"],
            ["aud": ["other"]], ["aud": [String]()], ["exp": 1_700_000_000], ["exp": "never"], ["nbf": 1_900_000_000],
        ] as [[String: (any Sendable)?]])
    func `when signed claims are wrong, then they are refused`(claims: [String: (any Sendable)?]) async throws {
        var all: [String: Any] = ["sub": "alice", "iss": TestProvider.issuer, "aud": TestProvider.clientID]
        for (name, value) in claims { all[name] = value }
        answer(try provider.key.token(all), type: "application/jwt;charset=utf-8")
        #expect(await error()?.code == .userInfoInvalid)
    }

    @Test func `when the signature is invalid, then the information is refused`() async throws {
        let claims = ["sub": "alice"]
        let unsigned = "\(Base64URL.encode(#"{"alg":"none"}"#.utf8)).\(Base64URL.encode(try json(claims).utf8))."
        for token in [try TestKey.es256().token(claims), unsigned, "a.b.c.d.e", Self.plain] {
            answer(token, type: "application/jwt")
            #expect(await error()?.code == .userInfoInvalid)
        }
        // The client does not read a signed token as plain information.
        answer(try provider.key.token(claims), type: "application/json")
        #expect(await error()?.code == .userInfoInvalid)
    }

    @Test func `when the keys are unreachable, then the error is unavailable`() async throws {
        let client = provider.client()
        _ = try await client.completeMetadata()
        answer(try provider.key.token(["sub": "alice"]), type: "application/jwt")
        provider.set { $0.gate = { throw HTTPError(.notConnected, authority: "id.example") } }
        #expect(await error(client)?.code == .unavailable)
    }

    @Test(
        arguments: [
            (401, #"Bearer error="invalid_token""#, OpenIDConnectError.Code.refused, "invalid_token"),
            (403, #"Bearer realm="x", error="insufficient_scope", scope="openid""#, .refused, "insufficient_scope"),
            (401, nil, .refused, nil), (302, nil, .refused, nil), (204, nil, .refused, nil),
            (503, nil, .unavailable, nil), (429, nil, .unavailable, nil),
        ] as [(Int, String?, OpenIDConnectError.Code, String?)])
    func `when the request fails, then the error code tells why`(
        status: Int, challenge: String?, code: OpenIDConnectError.Code, providerError: String?
    ) async {
        answer("", status: status, challenge: challenge)
        let transport = provider.transport()
        let error = await error(provider.client(transport))
        #expect(error?.code == code)
        #expect(error?.status == status)
        #expect(error?.providerError == providerError)
        #expect(error?.mayHaveBeenProcessed == false)
        #expect(error?.description.contains("SECRET") == false)
        #expect(transport.count(of: Self.endpoint) == 1)
    }

    @Test func `when a token is bound, then requests prove its key`() async throws {
        let key = DPoPKey()
        let calls = Counter()
        provider.set {
            $0.routes[Self.endpoint] = { _ in
                guard
                    calls.increment() == 1
                else { return .text(Self.plain) }
                var answer = HTTPAnswer.text("", status: 401)
                answer.headerFields[.wwwAuthenticate] = #"DPoP error="use_dpop_nonce""#
                answer.headerFields[.dpopNonce] = "n1"
                return answer
            }
        }
        let transport = provider.transport()
        _ = try await provider.client(transport).userinfo(accessToken: "SECRET", subject: "alice", dpopKey: key)
        let sent = transport.requests.filter { $0.url == Self.endpoint }
        #expect(sent.map { $0.headerFields[.authorization] } == ["DPoP SECRET", "DPoP SECRET"])
        let proofs = try sent.map { try DPoPTests.Proof($0.headerFields[.dpop]) }
        #expect(proofs.map { $0.claims["nonce"]?.string } == [nil, "n1"])
        for proof in proofs {
            #expect(proof.claims["htm"]?.string == "GET")
            #expect(proof.claims["htu"]?.string == Self.endpoint)
            #expect(proof.claims["ath"]?.string == DPoPKey.hash(of: "SECRET"))
        }
    }

    @Test func `when no userinfo endpoint exists, then the call is unsupported`() async {
        provider.set { $0.metadata["userinfo_endpoint"] = nil }
        #expect(await error()?.code == .unsupported)
    }
}
