import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("Proof of possession (DPoP)")
struct DPoPTests {
    static let tokenEndpoint = "https://id.example/token"

    let provider = TestProvider()
    let key = DPoPKey()

    init() throws {
        provider.set { $0.metadata["dpop_signing_alg_values_supported"] = ["RS256", "ES256"] }
        try provider.answer(["token_type": "DPoP"])
    }

    /// A decoded proof. Its signature was checked with the key that it names.
    struct Proof {
        let header: JSONValue
        let claims: JSONValue

        init(_ text: String?) throws {
            let parts = try #require(text).split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            header = try #require(JSONValue(objectIn: Base64URL.decode(parts[0]) ?? []))
            claims = try #require(JSONValue(objectIn: Base64URL.decode(parts[1]) ?? []))
            let point = [UInt8]([4]) + (bytes(header["jwk"]?["x"]) + bytes(header["jwk"]?["y"]))
            let publicKey = try P256.Signing.PublicKey(x963Representation: point)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: Base64URL.decode(parts[2]) ?? [])
            #expect(publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))

            func bytes(_ value: JSONValue?) -> [UInt8] { value?.string.flatMap { Base64URL.decode($0) } ?? [] }
        }
    }

    private func proofs(_ transport: ScriptedTransport, at url: String = tokenEndpoint) throws -> [Proof] {
        try transport.requests.filter { $0.url == url }.map { try Proof($0.headerFields[.dpop]) }
    }

    /// A server's answer that demands its nonce in the proof.
    static func wantsNonce(_ nonce: String?, status: Int = 400, _ text: String = #"{"error":"use_dpop_nonce"}"#)
        -> HTTPAnswer
    {
        var answer = HTTPAnswer.text(text, status: status)
        answer.headerFields[.dpopNonce] = nonce
        return answer
    }

    // MARK: - Key and proof

    @Test func `when RFC 9449's inputs are hashed, then the results match`() {
        let jwk = JSONValue.object([
            "kty": .string("EC"), "crv": .string("P-256"),
            "x": .string("l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"),
            "y": .string("9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"),
        ])
        #expect(DPoPKey.thumbprint(of: jwk) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        #expect(
            DPoPKey.hash(of: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
                == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    }

    @Test func `when a proof is made, then only required claims appear`() throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000.9)
        let text = try key.proof(
            method: "GET", url: "https://api.example:8443/a%20b?query=1#part", accessToken: "AT", nonce: "n/1", at: now)
        let proof = try Proof(text)
        #expect(proof.header["typ"]?.string == "dpop+jwt")
        #expect(proof.header["alg"]?.string == "ES256")
        guard case .object(let jwk) = proof.header["jwk"], case .object(let claims) = proof.claims else {
            Issue.record("no objects")
            return
        }
        // The public key only.
        #expect(Set(jwk.keys) == ["kty", "crv", "x", "y"])
        #expect(DPoPKey.thumbprint(of: .object(jwk)) == key.thumbprint)
        #expect(Set(claims.keys) == ["jti", "htm", "htu", "iat", "ath", "nonce"])
        #expect(claims["htm"]?.string == "GET")
        #expect(claims["htu"]?.string == "https://api.example:8443/a%20b")
        #expect(claims["iat"]?.number == 1_799_999_999)
        #expect(claims["ath"]?.string == DPoPKey.hash(of: "AT"))
        #expect(claims["nonce"]?.string == "n/1")
        #expect(!text.contains("="))
        let other = try Proof(key.proof(method: "GET", url: "https://a.example", accessToken: nil, nonce: nil, at: now))
        #expect(other.claims["jti"] != proof.claims["jti"])
        #expect(other.claims.member("ath") == nil)
        #expect(other.claims.member("nonce") == nil)
    }

    @Test func `when a key is restored, then its thumbprint is unchanged`() throws {
        let restored = try DPoPKey(rawRepresentation: key.rawRepresentation)
        #expect(restored.thumbprint == key.thumbprint)
        #expect(key.rawRepresentation.count == 32)
        #expect(DPoPKey().thumbprint != key.thumbprint)
        #expect(throws: OpenIDConnectError.self) { try DPoPKey(rawRepresentation: []) }
        #expect(throws: OpenIDConnectError.self) { try DPoPKey(rawRepresentation: Array(repeating: 0, count: 32)) }
        var printed = "\(key)"
        dump(key, to: &printed)
        dump(TokenSet(accessToken: "A", dpopKey: key), to: &printed)
        #expect(!printed.contains("PrivateKey"))
    }

    @Test(arguments: ["http://api.example/", "api", ""])
    func `when the address is forbidden, then no proof is made`(url: String) {
        #expect(throws: OpenIDConnectError.self) {
            try key.proof(method: "GET", url: url, accessToken: nil, nonce: nil, at: Date())
        }
    }

    // MARK: - Tokens

    @Test func `when a sign-in starts, then one new key binds it`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        let bound = try #require(request.dpopKey)
        #expect(request.url.contains("&dpop_jkt=\(bound.thumbprint)"))
        try provider.answer(
            idToken: provider.key.token(provider.claims(nonce: request.nonce)), ["token_type": "dPOP"])
        let tokens = try await client.redeem(request, callback: callback)
        #expect(tokens.dpopKey === bound)
        let proof = try #require(try proofs(transport).first)
        #expect(proof.claims["htm"]?.string == "POST")
        #expect(proof.claims["htu"]?.string == Self.tokenEndpoint)
        #expect(proof.claims.member("ath") == nil)
        #expect(DPoPKey.thumbprint(of: try #require(proof.header["jwk"])) == bound.thumbprint)
        let second = try await provider.signIn(client).request
        #expect(second.dpopKey?.thumbprint != bound.thumbprint)
    }

    @Test func `when Bearer tokens arrive, then the refresh token stays bound`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let (request, callback) = try await provider.signIn(client)
        try provider.answer(idToken: provider.key.token(provider.claims(nonce: request.nonce)))
        let tokens = try await client.redeem(request, callback: callback)
        #expect(tokens.tokenType == "Bearer")
        #expect(tokens.dpopKey === request.dpopKey)
        #expect(tokens.dpopKey != nil)
        // The provider keeps the client bound (RFC 9449 section 5).
        #expect(try await client.refresh("R", subject: "alice", dpopKey: tokens.dpopKey).dpopKey === tokens.dpopKey)
        #expect(try proofs(transport).count == 2)
    }

    @Test(arguments: [true, false])
    func `when DPoP is unannounced or unwanted, then no key exists`(isWanted: Bool) async throws {
        if isWanted { provider.set { $0.metadata["dpop_signing_alg_values_supported"] = ["RS256"] } }
        let transport = provider.transport()
        let client = OpenIDProvider(
            issuer: TestProvider.issuer, clientID: TestProvider.clientID, usesDPoP: isWanted, transport: transport,
            clock: provider.clock)
        let (request, callback) = try await provider.signIn(client)
        #expect(request.dpopKey == nil)
        #expect(!request.url.contains("dpop"))
        let token = try provider.key.token(provider.claims(nonce: request.nonce))
        try provider.answer(idToken: token, ["token_type": "DPoP"])
        // Tokens bound to a key that nobody has are useless.
        #expect(await errorCode { _ = try await client.redeem(request, callback: callback) } == .unsupported)
        #expect(transport.requests.allSatisfy { $0.headerFields[.dpop] == nil })
    }

    @Test func `when bound tokens are refreshed, then their key is proved`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        let kept = Lock<String?>(nil)
        let tokens = try await client.refresh("R", subject: "alice", dpopKey: key) { token, _ in
            kept.withLock { $0 = token }
        }
        #expect(tokens.dpopKey === key)
        #expect(kept.withLock { $0 } == "REFRESH")
        let proof = try #require(try proofs(transport).first)
        #expect(DPoPKey.thumbprint(of: try #require(proof.header["jwk"])) == key.thumbprint)

        kept.withLock { $0 = nil }
        let error = await caught {
            _ = try await client.refresh("R", subject: "alice") { token, _ in kept.withLock { $0 = token } }
        }
        #expect(error?.code == .unsupported)
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(kept.withLock { $0 } == "REFRESH")
    }

    // MARK: - Nonces

    @Test func `when a nonce is demanded, then the refresh is repeated`() async throws {
        let calls = Counter()
        provider.set {
            $0.token = { _ in
                switch calls.increment() {
                case 1: return Self.wantsNonce("n1")
                case 2:
                    var answer = HTTPAnswer.text(#"{"access_token":"A","token_type":"DPoP","refresh_token":"R2"}"#)
                    answer.headerFields[.dpopNonce] = "n2"
                    return answer
                default: return .text(#"{"access_token":"A","token_type":"DPoP"}"#)
                }
            }
        }
        let transport = provider.transport()
        let client = provider.client(transport)
        let keeps = Lock(0)
        for _ in 0..<2 {
            _ = try await client.refresh("R", subject: "alice", dpopKey: key) { _, _ in keeps.withLock { $0 += 1 } }
        }
        let proofs = try proofs(transport)
        #expect(proofs.map { $0.claims["nonce"]?.string } == [nil, "n1", "n2"])
        #expect(Set(proofs.map { $0.claims["jti"]?.string }).count == 3)
        #expect(keeps.withLock { $0 } == 2)
    }

    @Test func `when nonces never satisfy, then no third request is sent`() async throws {
        let calls = Counter()
        provider.set { $0.token = { _ in Self.wantsNonce("n\(calls.increment())") } }
        let transport = provider.transport()
        let error = await caught {
            _ = try await provider.client(transport).refresh("R", subject: "alice", dpopKey: key)
        }
        #expect(error?.code == .refused)
        #expect(error?.providerError == "use_dpop_nonce")
        #expect(error?.mayHaveBeenProcessed == false)
        #expect(transport.count(of: Self.tokenEndpoint) == 2)
    }

    @Test(
        arguments: [
            DPoPTests.wantsNonce(nil), DPoPTests.wantsNonce("bad\"nonce"), DPoPTests.wantsNonce(""),
            DPoPTests.wantsNonce(String(repeating: "n", count: 2000)),
            DPoPTests.wantsNonce("n1", #"{"error":"invalid_dpop_proof"}"#), DPoPTests.wantsNonce("n1", "{}"),
            DPoPTests.wantsNonce("n1", #"{"error":"invalid_grant"}"#), DPoPTests.wantsNonce("n1", status: 500),
            DPoPTests.wantsNonce("n1", status: 200),
        ])
    func `when the nonce demand is invalid, then nothing is repeated`(answer: HTTPAnswer) async {
        provider.set { $0.token = { _ in answer } }
        let transport = provider.transport()
        let client = provider.client(transport)
        #expect(await errorCode { _ = try await client.refresh("R", subject: "alice", dpopKey: key) } != nil)
        #expect(transport.count(of: Self.tokenEndpoint) == 1)
    }

    @Test func `when no key exists, then a nonce causes no retry`() async {
        provider.set { $0.token = { _ in Self.wantsNonce("n1") } }
        let transport = provider.transport()
        #expect(await errorCode { _ = try await provider.client(transport).refresh("R", subject: "alice") } == .refused)
        #expect(transport.count(of: Self.tokenEndpoint) == 1)
    }

    @Test func `when the retry gets lost, then processing counts as possible`() async {
        let calls = Counter()
        provider.set {
            $0.token = { _ in
                if calls.increment() == 1 {
                    return Self.wantsNonce("n1")
                }
                throw HTTPError(.interrupted, authority: "id.example")
            }
        }
        let error = await caught { _ = try await provider.client().refresh("R", subject: "alice", dpopKey: key) }
        #expect(error?.code == .interrupted)
        #expect(error?.mayHaveBeenProcessed == true)
    }

    @Test func `when origins differ, then they share no nonce`() throws {
        let nonces = DPoPNonces()
        #expect(nonces.learn(from: Self.wantsNonce("n1"), of: "https://ID.example/token"))
        #expect(nonces["https://id.example/userinfo?x=1"] == "n1")
        for url in ["https://id.example:8443/", "http://id.example/", "https://id.example.evil/"] {
            #expect(nonces[url] == nil)
        }
    }

    @Test(
        arguments: [
            (#"DPoP error="use_dpop_nonce", error_description="a, b""#, true),
            (#"dpop error="use_dpop_nonce""#, true), (#"DPOP realm="x, y", error=use_dpop_nonce"#, true),
            (#"Bearer realm="a", error="invalid_token", DPoP algs="ES256", error="use_dpop_nonce""#, true),
            (#"DPoP error="invalid_token""#, false), (#"Bearer error="use_dpop_nonce""#, false), ("DPoP", false),
            (#"DPoP realm="error=use_dpop_nonce""#, false), ("", false),
        ])
    func `when a challenge demands the nonce, then it is recognized`(field: String, asksForNonce: Bool) {
        var answer = HTTPAnswer.text("", status: 401)
        answer.headerFields[.wwwAuthenticate] = field
        #expect(DPoPRequest.asksForNonce(answer) == asksForNonce)
        answer.status = 403
        #expect(!DPoPRequest.asksForNonce(answer))
    }
}
