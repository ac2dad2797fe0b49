import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

/// A private key, its published form, and its signing function.
struct TestKey: Sendable {
    var algorithm: String
    var jwk: [String: String]
    let sign: @Sendable ([UInt8]) throws -> [UInt8]

    static func es256(keyID: String? = "k1") -> TestKey {
        let key = P256.Signing.PrivateKey()
        return ec("ES256", "P-256", Array(key.publicKey.rawRepresentation), keyID) {
            Array(try key.signature(for: $0).rawRepresentation)
        }
    }

    static func es384() -> TestKey {
        let key = P384.Signing.PrivateKey()
        return ec("ES384", "P-384", Array(key.publicKey.rawRepresentation), "k1") {
            Array(try key.signature(for: $0).rawRepresentation)
        }
    }

    static func es512() -> TestKey {
        let key = P521.Signing.PrivateKey()
        return ec("ES512", "P-521", Array(key.publicKey.rawRepresentation), "k1") {
            Array(try key.signature(for: $0).rawRepresentation)
        }
    }

    static func ed25519() -> TestKey {
        let key = Curve25519.Signing.PrivateKey()
        let x = Base64URL.encode(key.publicKey.rawRepresentation)
        return TestKey(algorithm: "EdDSA", jwk: ["kty": "OKP", "crv": "Ed25519", "x": x, "kid": "k1"]) {
            Array(try key.signature(for: $0))
        }
    }

    private static func ec(
        _ algorithm: String, _ curve: String, _ point: [UInt8], _ keyID: String?,
        sign: @escaping @Sendable ([UInt8]) throws -> [UInt8]
    ) -> TestKey {
        let half = point.count / 2
        var jwk = [
            "kty": "EC", "crv": curve, "x": Base64URL.encode(point.prefix(half)),
            "y": Base64URL.encode(point.suffix(half)),
        ]
        jwk["kid"] = keyID
        return TestKey(algorithm: algorithm, jwk: jwk, sign: sign)
    }

    /// A token with this header and payload, both unchanged.
    func token(header: String, payload: String) throws -> String {
        let input = "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(payload.utf8))"
        return "\(input).\(Base64URL.encode(try sign(Array(input.utf8))))"
    }

    func token(_ claims: [String: Any], header: [String: Any] = [:]) throws -> String {
        var fields: [String: Any] = ["alg": algorithm, "typ": "JWT"]
        fields["kid"] = jwk["kid"]
        fields.merge(header) { $1 }
        return try token(header: json(fields), payload: json(claims))
    }
}

func json(_ object: [String: Any]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
}

/// A provider made of canned answers. Answers are right unless a test changes them.
final class TestProvider: Sendable {
    struct State: Sendable {
        var metadata: [String: any Sendable] = [:]
        var keys: [[String: String]] = []
        var token: @Sendable (ScriptedTransport.Request) async throws -> HTTPAnswer = { _ in .text("{}", status: 500) }
        var revocation = HTTPAnswer.text("")
        /// Answers of other addresses. They replace the answers above.
        var routes: [String: @Sendable (ScriptedTransport.Request) async throws -> HTTPAnswer] = [:]
        /// A gate that discovery and key set wait for.
        var gate: @Sendable () async throws -> Void = {}
    }

    static let issuer = "https://id.example/realm"
    static let clientID = "vault-cli"
    static let redirectURI = "http://127.0.0.1:8765/callback"

    let clock = ManualWallClock()
    let key = TestKey.es256()
    let state: Lock<State>

    init() {
        state = Lock(State())
        set { state in
            state.metadata = [
                "issuer": Self.issuer, "authorization_endpoint": "https://id.example/auth?tenant=1",
                "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys",
                "revocation_endpoint": "https://id.example/revoke",
            ]
            state.keys = [key.jwk]
        }
    }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func transport() -> ScriptedTransport {
        ScriptedTransport { [self] request in
            let state = state.withLock { $0 }
            if let route = state.routes[request.url] { return try await route(request) }
            switch request.url {
            case Self.issuer + "/.well-known/openid-configuration":
                try await state.gate()
                return .text(try json(state.metadata))
            case "https://id.example/keys":
                try await state.gate()
                return .text(try json(["keys": state.keys]))
            case "https://id.example/token": return try await state.token(request)
            case "https://id.example/revoke": return state.revocation
            default: return .text("not here", status: 404)
            }
        }
    }

    func client(_ transport: ScriptedTransport? = nil) -> OpenIDProvider {
        OpenIDProvider(
            issuer: Self.issuer, clientID: Self.clientID, transport: transport ?? self.transport(), clock: clock)
    }

    /// Claims that are right at the clock's time.
    func claims(nonce: String? = nil) -> [String: Any] {
        let now = clock.now.timeIntervalSince1970
        var claims: [String: Any] = [
            "iss": Self.issuer, "sub": "alice", "aud": Self.clientID, "exp": now + 300, "iat": now,
            "email": "alice@id.example", "preferred_username": "al", "name": "Alice",
        ]
        claims["nonce"] = nonce
        return claims
    }

    /// Makes the token endpoint return these members. The tokens are "ACCESS" and "REFRESH" unless `members` says
    /// otherwise.
    func answer(idToken: String? = nil, _ members: [String: any Sendable] = [:]) throws {
        var answer: [String: Any] = [
            "access_token": "ACCESS", "refresh_token": "REFRESH", "token_type": "Bearer", "expires_in": 60,
        ]
        answer["id_token"] = idToken
        answer.merge(members) { $1 }
        let text = try json(answer.filter { !($0.value is NSNull) })
        set { $0.token = { _ in .text(text) } }
    }

    /// A sign-in whose redirect is right, and the redirect.
    func signIn(_ client: OpenIDProvider) async throws -> (request: AuthorizationRequest, callback: String) {
        let request = try await client.authorizationRequest(
            redirectURI: Self.redirectURI, scopes: ["openid", "offline_access"])
        return (request, "/callback?code=CODE&state=\(request.state)")
    }
}

/// The code of the OpenID Connect error that `body` throws; nil if it throws none. Any other error fails the test.
func errorCode(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> OpenIDConnectError.Code? {
    await thrown(\OpenIDConnectError.code, sourceLocation: sourceLocation, body)
}

/// The OpenID Connect error that `body` throws; nil if it throws none. Any other error fails the test.
func caught(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> OpenIDConnectError? {
    await thrown(OpenIDConnectError.self, sourceLocation: sourceLocation, body)
}
