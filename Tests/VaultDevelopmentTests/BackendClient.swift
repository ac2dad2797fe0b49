import Foundation
import NIOHTTP1
import Testing
import VaultDevelopment

/// An app that knows only HTTP.
struct BackendClient {
    let http: ProviderClient
    let paths: DevelopmentBackend.Paths

    init(_ backend: DevelopmentBackend) {
        http = ProviderClient(issuer: backend.url)
        paths = backend.paths
    }

    func get(_ path: String, bearer: String? = nil) async throws -> ProviderClient.Answer {
        try await http.get(http.issuer + path, bearer: bearer)
    }

    func post(
        _ path: String, _ fields: [String: String], bearer: String? = nil
    ) async throws -> ProviderClient.Answer {
        let json = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
        let headers = bearer.map { ["Authorization": "Bearer \($0)"] } ?? [:]
        return try await http.post(path, raw: json, type: "application/json", headers: headers)
    }

    /// A browser login in front of an identity provider. Returns the data of the redirect.
    func browserLogin(as username: String = "alice") async throws -> [String: String] {
        let query = encoded(["redirect_uri": ProviderClient.redirectURI])
        let redirect = try await ScriptedBrowser(username: username, password: "\(username)-password")
            .redirect(from: "\(http.issuer)\(paths.login)?\(query)")
        #expect(redirect.hasPrefix("\(ProviderClient.redirectURI)?"))
        return queryItems(redirect)
    }

    func redeem(
        _ redirect: [String: String], _ changes: [String: String] = [:]
    ) async throws -> ProviderClient.Answer {
        let fields = [
            "code": redirect["code"] ?? "", "state": redirect["state"] ?? "",
            "redirect_uri": ProviderClient.redirectURI,
        ]
        return try await post(paths.token, fields.merging(changes) { $1 })
    }

    func login(email: String = "alice@example.com", password: String) async throws -> ProviderClient.Answer {
        try await post(paths.login, ["email": email, "password": password])
    }

    func refresh(_ token: String?) async throws -> ProviderClient.Answer {
        try await post(paths.refresh, ["refreshToken": token ?? ""])
    }

    /// The registration of a client.
    /// - Parameter changes: A JSON object. A member that is null is left out.
    func registration(_ changes: String = "{}") async throws -> ProviderClient.Answer {
        var body: [String: Any] = [
            "client_name": "Notes", "client_uri": "https://notes.example.com/", "software_id": "notes",
            "software_version": "1", "redirect_uris": [ProviderClient.redirectURI],
            "grant_types": ["authorization_code"],
        ]
        let changed = try JSONSerialization.jsonObject(with: Data(changes.utf8)) as? [String: Any]
        for (name, value) in changed ?? [:] { body[name] = value is NSNull ? nil : value }
        let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        return try await http.post(paths.oauthClient, raw: json, type: "application/json")
    }

    /// Registers an OAuth client; its identifier.
    func register() async throws -> String {
        let answer = try await registration()
        #expect(answer.status == 201)
        return try #require(answer["client_id"])
    }

    func authorizeURL(_ client: String, _ changes: [String: String?] = [:]) -> String {
        var fields: [String: String?] = [
            "response_type": "code", "client_id": client, "redirect_uri": ProviderClient.redirectURI, "state": "s-1",
            "scope": "items:read admin", "code_challenge": ProviderClient.challenge, "code_challenge_method": "S256",
        ]
        fields.merge(changes) { $1 }
        return "\(http.issuer)\(paths.authorize)?\(encoded(fields.compactMapValues { $0 }))"
    }

    /// A whole OAuth login; the token endpoint's answer.
    func oauthLogin(
        _ client: String, _ changes: [String: String] = [:], scope: String = "items:read admin"
    ) async throws -> ProviderClient.Answer {
        let redirect = try await ScriptedBrowser(username: "alice", password: "alice-password")
            .redirect(from: authorizeURL(client, ["scope": scope]))
        #expect(queryItems(redirect)["state"] == "s-1")
        let fields = [
            "grant_type": "authorization_code", "client_id": client, "code": queryItems(redirect)["code"] ?? "",
            "redirect_uri": ProviderClient.redirectURI, "code_verifier": ProviderClient.verifier,
        ]
        return try await http.post(paths.oauthToken, fields.merging(changes) { $1 })
    }

    /// Ends an OAuth token.
    func revoke(_ token: String?, bearer: String?) async throws -> ProviderClient.Answer {
        let headers = bearer.map { ["Authorization": "Bearer \($0)"] } ?? [:]
        return try await http.post(paths.oauthRevocation, ["token": token ?? ""], headers: headers)
    }

    func oauthRefresh(_ token: String?, client: String) async throws -> ProviderClient.Answer {
        try await http.post(
            paths.oauthToken, ["grant_type": "refresh_token", "client_id": client, "refresh_token": token ?? ""])
    }
}

extension DevelopmentBackend.Options {
    /// A server that keeps OAuth clients, issues refresh tokens, and takes passwords beside OAuth.
    static var lenient: DevelopmentBackend.Options {
        var options = DevelopmentBackend.Options()
        options.isLenient = true
        return options
    }
}

/// The claims of a JSON Web Token.
func claims(of token: String) throws -> [String: Any] {
    let part = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
    let padded = part + String(repeating: "=", count: (4 - part.count % 4) % 4)
    let value = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: padded)))
    return try #require(value as? [String: Any])
}
