import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import VaultDevelopment

/// A client that knows only HTTP, so that tests see the provider's real answers.
struct ProviderClient {
    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: String

        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]) ?? [:]
        }

        subscript(field: String) -> String? { json[field] as? String }
    }

    /// RFC 7636 appendix B.
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let redirectURI = "http://127.0.0.1:49152/callback"

    let issuer: String

    init(issuer: String) { self.issuer = issuer }

    init(_ provider: DevelopmentIdentityProvider) { issuer = provider.issuer }

    func authorizationURL(_ changes: [String: String?] = [:]) -> String {
        var parameters: [String: String?] = [
            "response_type": "code", "client_id": "vault-cli", "redirect_uri": Self.redirectURI, "state": "s-1",
            "nonce": "n-1", "scope": "openid profile email offline_access", "code_challenge": Self.challenge,
            "code_challenge_method": "S256",
        ]
        parameters.merge(changes) { $1 }
        return "\(issuer)/authorize?\(encoded(parameters.compactMapValues { $0 }))"
    }

    func get(
        _ url: String, bearer: String? = nil, method: HTTPMethod = .GET, headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        return try await send(request)
    }

    func post(
        _ path: String, _ fields: [String: String], headers: [String: String] = [:]
    ) async throws -> Answer {
        try await post(path, raw: encoded(fields), headers: headers)
    }

    func post(
        _ path: String, raw: String, type: String = "application/x-www-form-urlencoded",
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: issuer + path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: type)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(string: raw))
        return try await send(request)
    }

    /// A code from the login page, reached as a person does.
    func code(as username: String = "alice", _ changes: [String: String?] = [:]) async throws -> String {
        let browser = ScriptedBrowser(username: username, password: "\(username)-password")
        let redirect = try await browser.redirect(from: authorizationURL(changes))
        return queryItems(redirect)["code"] ?? ""
    }

    func redeem(code: String, _ changes: [String: String] = [:]) async throws -> Answer {
        let fields = [
            "grant_type": "authorization_code", "client_id": "vault-cli", "code": code,
            "redirect_uri": Self.redirectURI, "code_verifier": Self.verifier,
        ]
        return try await post("/token", fields.merging(changes) { $1 })
    }

    func refresh(_ token: String?, _ changes: [String: String] = [:]) async throws -> Answer {
        let fields = ["grant_type": "refresh_token", "client_id": "vault-cli", "refresh_token": token ?? ""]
        return try await post("/token", fields.merging(changes) { $1 })
    }

    /// A whole login; the token endpoint's answer.
    func login(as username: String = "alice", _ changes: [String: String?] = [:]) async throws -> Answer {
        try await redeem(code: code(as: username, changes))
    }

    private func send(_ request: HTTPClientRequest) async throws -> Answer {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
        do {
            let response = try await client.execute(request, timeout: .seconds(30))
            let body = String(buffer: try await response.body.collect(upTo: 1 << 20))
            try await client.shutdown()
            let headers = response.headers.map { ($0.name.lowercased(), $0.value) }
            return Answer(
                status: Int(response.status.code), headers: Dictionary(headers) { $1 }, body: body)
        } catch {
            try? await client.shutdown()
            throw error
        }
    }
}

func encoded(_ fields: [String: String]) -> String {
    fields.map { name, value in
        let allowed = CharacterSet.alphanumerics
        let escaped = value.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        return "\(name)=\(escaped)"
    }.joined(separator: "&")
}

func queryItems(_ url: String) -> [String: String] {
    let items = URLComponents(string: url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
}
