import HTTPTypes
import Testing
import VaultHTTP
import VaultNetworking

@testable import OpenIDConnect

/// An app with a browser and a provider: all steps between the person's click and the tokens, over HTTP.
struct NativeApp: Sendable {
    static let redirectURI = "http://127.0.0.1:8765/callback"

    let provider: MisbehavingProvider
    let client: OpenIDProvider
    private let transport = AsyncHTTPTransport()

    init(key: TestKey = .es256()) async throws {
        self.init(at: try await MisbehavingProvider(key: key))
    }

    init(
        at provider: MisbehavingProvider, issuer: String? = nil, clientID: String = MisbehavingProvider.clientID,
        clientSecret: String? = nil, tokenEndpointAuthMethod: String? = nil,
        through transport: (any HTTPTransport)? = nil
    ) {
        self.provider = provider
        client = OpenIDProvider(
            issuer: issuer ?? provider.issuer, clientID: clientID, clientSecret: clientSecret,
            tokenEndpointAuthMethod: tokenEndpointAuthMethod, transport: transport ?? self.transport,
            clock: provider.clock)
    }

    func start(scopes: [String] = ["openid"], redirectURI: String = redirectURI) async throws -> AuthorizationRequest {
        try await client.authorizationRequest(redirectURI: redirectURI, scopes: scopes)
    }

    /// Lets the browser go through the authorization, up to the redirect.
    func callback(of request: AuthorizationRequest) async throws -> String {
        let answer = try await visit(request.url)
        #expect(answer.status == .found, "\(String(decoding: answer.body, as: UTF8.self))")
        return try #require(answer.headerFields[.location])
    }

    func signIn(scopes: [String] = ["openid"]) async throws -> TokenSet {
        let request = try await start(scopes: scopes)
        return try await client.redeem(request, callback: try await callback(of: request))
    }

    /// The answer that the browser gets. It follows no redirect.
    func visit(_ url: String) async throws -> HTTPAnswer {
        let parts = EndpointURL.split(url)
        let request = HTTPRequest(
            method: .get, scheme: parts.scheme, authority: parts.authority, path: parts.path)
        return try await transport.send(request, body: [], limits: HTTPLimits())
    }

    /// Refreshes, and remembers the refresh tokens that it had to keep.
    func refresh(_ refreshToken: String?, dpopKey: DPoPKey? = nil, kept: inout [String?]) async throws -> TokenSet {
        var all: [String?] = []
        defer { kept = all }
        return try await client.refresh(
            refreshToken ?? "", subject: MisbehavingProvider.subject, dpopKey: dpopKey
        ) { token, _ in
            all.append(token)
        }
    }

    /// Refreshes, and returns the tokens with the refresh token that is valid now.
    func refresh(_ tokens: TokenSet) async throws -> TokenSet {
        var kept: [String?] = []
        var new = try await refresh(tokens.refreshToken, dpopKey: tokens.dpopKey, kept: &kept)
        new.refreshToken = kept.first.flatMap(\.self) ?? tokens.refreshToken
        return new
    }

    func userinfo(_ tokens: TokenSet) async throws -> UserInfo {
        try await client.userinfo(
            accessToken: tokens.accessToken, subject: MisbehavingProvider.subject,
            dpopKey: tokens.tokenType.lowercased() == "dpop" ? tokens.dpopKey : nil)
    }
}

/// A transport that gives up on one of the provider's endpoints on command. It acts as at the end of the time limit,
/// without the wait.
final class ImpatientTransport: HTTPTransport {
    private let endpoint: MisbehavingProvider.Endpoint
    private let transport = AsyncHTTPTransport()
    private let end = Gate()

    init(at endpoint: MisbehavingProvider.Endpoint) {
        self.endpoint = endpoint
    }

    func giveUp() { end.open() }

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        guard request.path == endpoint.rawValue else {
            return try await transport.send(request, body: body, limits: limits)
        }
        let tooLate = HTTPError(.timedOut, authority: request.authority ?? "")
        return try await withThrowingTaskGroup { group in
            group.addTask { [transport] in try await transport.send(request, body: body, limits: limits) }
            group.addTask { [end] in
                await end.wait()
                throw tooLate
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw tooLate }
            return first
        }
    }
}
