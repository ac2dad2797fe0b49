import Foundation
import HTTPTypes
import VaultHTTP

@testable import OpenIDConnect
@testable import VaultBase

extension FuzzTarget {
    private static let issuer = "https://id.example.com"
    private static let document = """
        {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/authorize","token_endpoint":"\(issuer)/token",
        "jwks_uri":"\(issuer)/keys","userinfo_endpoint":"\(issuer)/userinfo","revocation_endpoint":"\(issuer)/revoke",
        "device_authorization_endpoint":"\(issuer)/device","registration_endpoint":"\(issuer)/register",
        "dpop_signing_alg_values_supported":["ES256"]}
        """

    private struct StoppedClock: WallClock {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
    }

    static func json(_ bytes: [UInt8]) {
        guard let parsed = JSONParser.parse(bytes) else { return }
        // A value that was read can be written and read again.
        if JSONParser.parse(parsed.value.encoded()) == nil { fatalError("It cannot be read again.") }
    }

    /// A key set, an end of line, and a token.
    static func idToken(_ bytes: [UInt8]) async {
        let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let keys = JSONValue(objectIn: Array(parts[0]))?["keys"]?.array.map { SignatureKey.keys(in: $0) } ?? []
        let clock = StoppedClock()
        let verifier = IDTokenVerifier(
            issuer: issuer, clientID: "vault-cli", clock: clock, keys: KeySource(clock: clock) { (keys, 3600) })
        let token = String(decoding: parts.last ?? [], as: UTF8.self)
        _ = try? await verifier.verify(token, accessToken: "A", expecting: .signInWithoutNonce)
        _ = JWT(token)?.expiresAt
        try? DPoPProof(token).check(
            method: "POST", url: "https://keys.example.com/", accessToken: "A", at: clock.now, within: 300)
    }

    static func metadata(_ bytes: [UInt8]) {
        guard let document = JSONValue(objectIn: bytes),
            let metadata = try? ProviderMetadata(document: document, issuer: issuer)
        else { return }
        _ = AuthorizationRequest(
            metadata: metadata, clientID: "vault-cli", redirectURI: "http://127.0.0.1/", scopes: ["openid"])
    }

    static func redirect(_ bytes: [UInt8]) {
        guard let document = JSONValue(objectIn: Array(document.utf8)),
            let metadata = try? ProviderMetadata(document: document, issuer: issuer)
        else { return }
        let request = AuthorizationRequest(
            metadata: metadata, clientID: "vault-cli", redirectURI: "http://127.0.0.1/", scopes: ["openid"],
            state: "s", nonce: "n", verifier: "v")
        _ = try? request.code(in: String(decoding: bytes, as: UTF8.self))
    }

    /// The kind of request, a status, a letter for each header field, an end of line, and the body.
    static func providerAnswer(_ bytes: [UInt8]) async {
        guard bytes.count > 2 else { return }
        let rest = bytes.dropFirst(2)
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        var fields = HTTPFields()
        for letter in rest[..<end].prefix(8) {
            switch letter {
            case UInt8(ascii: "j"): fields[.contentType] = "application/json"
            case UInt8(ascii: "t"): fields[.contentType] = "application/jwt"
            case UInt8(ascii: "n"): fields[.init("DPoP-Nonce") ?? .eTag] = "nonce"
            case UInt8(ascii: "c"): fields[.wwwAuthenticate] = "DPoP error=\"use_dpop_nonce\", realm=\"\\\""
            default:
                fields[.wwwAuthenticate] = String(
                    decoding: rest[..<end].filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
            }
        }
        let answer = HTTPAnswer(
            status: .init(code: [200, 400, 401, 403, 404, 500, 503][Int(bytes[1]) % 7]), headerFields: fields,
            body: Array(rest[end...].dropFirst()))
        let provider = OpenIDProvider(
            issuer: issuer, clientID: "vault-cli", transport: CannedProvider(answer: answer), clock: StoppedClock())
        switch bytes[0] % 6 {
        case 0: _ = try? await provider.refresh("R", subject: "alice", dpopKey: .init())
        case 1: _ = try? await provider.userinfo(accessToken: "A", subject: "alice", dpopKey: .init())
        case 2: _ = try? await provider.authorizeDevice(scopes: ["openid"])
        case 3: _ = try? await provider.registerClient(.init(name: "Vault", redirectURIs: ["http://127.0.0.1/"]))
        case 4: try? await provider.revoke("R", hint: "refresh_token")
        default: _ = try? await provider.signIn(username: "alice", password: "p", scopes: ["openid"])
        }
    }

    /// A provider that gives one answer to every request except discovery.
    private struct CannedProvider: HTTPTransport {
        let answer: HTTPAnswer

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            guard request.path?.contains(".well-known") == true else { return answer }
            return HTTPAnswer(
                status: .ok, headerFields: [.contentType: "application/json"], body: Array(FuzzTarget.document.utf8))
        }
    }
}
