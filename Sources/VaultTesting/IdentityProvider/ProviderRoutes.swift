internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// A request's context that also knows its connection.
struct ProviderRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// The provider's HTTP side: each route reads the request, asks the ``AuthorizationServer`` and writes the answer.
struct ProviderRoutes {
    let server: AuthorizationServer

    private static let bodyLimit = 64 * 1024

    func router() -> Router<ProviderRequestContext> {
        let router = Router(context: ProviderRequestContext.self)
        router.get("/.well-known/openid-configuration") { _, _ in try await discovery() }
        router.get("/jwks") { _, _ in
            await server.log(.init(.keys, .ok))
            return try await json(server.keySet())
        }
        router.get("/authorize") { request, _ in
            await page(for: server.authorize(FormParameters(request.uri.query ?? "")))
        }
        router.post("/authorize") { request, _ in
            let form = try await form(request)
            return await page(for: server.authorize(form))
        }
        router.post("/login") { request, _ in
            let form = try await form(request)
            return await page(for: server.login(form))
        }
        router.post("/token") { request, context in
            let form = try await form(request)
            let answer = await server.token(form)
            if answer.isSwallowed { try? await context.channel.close() }
            return response(.init(code: answer.status), "application/json", answer.body)
        }
        router.post("/revoke") { request, _ in try await revoke(request) }
        router.get("/userinfo") { request, _ in try await userInfo(request) }
        router.post("/userinfo") { request, _ in try await userInfo(request) }
        return router
    }

    // MARK: Endpoints

    /// The discovery document (OpenID Connect Discovery 1.0 section 3, RFC 8414, RFC 9207 section 3).
    private struct Discovery: Encodable {
        var issuer: String
        var authorizationEndpoint: String
        var tokenEndpoint: String
        var revocationEndpoint: String
        var userinfoEndpoint: String
        var jwksUri: String
        var scopesSupported: [String]
        var responseTypesSupported = ["code"]
        var responseModesSupported = ["query"]
        var grantTypesSupported = ["authorization_code", "refresh_token"]
        var subjectTypesSupported = ["public"]
        var idTokenSigningAlgValuesSupported = ["ES256"]
        var tokenEndpointAuthMethodsSupported = ["none"]
        var revocationEndpointAuthMethodsSupported = ["none"]
        var codeChallengeMethodsSupported = ["S256"]
        var authorizationResponseIssParameterSupported = true
        var claimsSupported = [
            "sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "email", "email_verified",
            "preferred_username", "name",
        ]
        var requestParameterSupported = false
        var requestUriParameterSupported = false
    }

    private func discovery() async throws -> Response {
        await server.log(.init(.discovery, .ok))
        let issuer = await server.issuer
        return try json(
            Discovery(
                issuer: issuer, authorizationEndpoint: "\(issuer)/authorize", tokenEndpoint: "\(issuer)/token",
                revocationEndpoint: "\(issuer)/revoke", userinfoEndpoint: "\(issuer)/userinfo",
                jwksUri: "\(issuer)/jwks", scopesSupported: server.options.scopes))
    }

    private func revoke(_ request: Request) async throws -> Response {
        do {
            guard let form = try await form(request) else { throw OAuthError.invalidRequest("The body is not a form.") }
            await server.log(try await server.revoke(form))
            return response(.ok)
        } catch let error as OAuthError {
            await server.log(.init(.revocation, error.outcome))
            return response(.init(code: error.status), "application/json", errorBody(error))
        }
    }

    /// The UserInfo endpoint (OpenID Connect Core section 5.3; errors by RFC 6750 section 3).
    private func userInfo(_ request: Request) async throws -> Response {
        let authorization = request.headers[.authorization] ?? ""
        guard authorization.lowercased().hasPrefix("bearer "),
            let access = await server.access(String(authorization.dropFirst(7)))
        else {
            await server.log(.init(.userInfo, .init(rawValue: "invalid_token")))
            var answer = response(.unauthorized)
            answer.headers[.wwwAuthenticate] = #"Bearer error="invalid_token""#
            return answer
        }
        await server.log(.init(.userInfo, .ok, username: access.user.username))
        return try json(IDTokenClaims(user: access.user, scope: access.scope))
    }

    // MARK: Reading and writing

    /// The form in a request's body; nil when there is none, or it is malformed.
    private func form(_ request: Request) async throws -> FormParameters? {
        guard let type = request.headers[.contentType],
            type.lowercased().hasPrefix("application/x-www-form-urlencoded")
        else { return nil }
        var request = request
        let body = try await request.collectBody(upTo: Self.bodyLimit)
        return String(validating: body.readableBytesView, as: UTF8.self).flatMap { FormParameters($0) }
    }

    private func page(for step: AuthorizationServer.LoginStep) -> Response {
        switch step {
        case .redirect(let location):
            var answer = response(.seeOther)
            answer.headers[.location] = location
            return answer
        case .refuse(let problem):
            return html(.badRequest, LoginPage.refusal(problem), formTarget: "'none'")
        case .form(let request, let authorization, let problem):
            let body = LoginPage.form(
                request: request, clientID: server.options.clientID, scope: authorization.scope,
                username: authorization.loginHint ?? "", problem: problem)
            return html(
                problem == nil ? .ok : .unauthorized, body,
                formTarget: "'self' \(RedirectURI.origin(of: authorization.redirectURI))")
        }
    }

    /// - Parameter formTarget: Where the form may lead. Browsers apply it to the redirect after the post, too.
    private func html(_ status: HTTPResponse.Status, _ body: String, formTarget: String) -> Response {
        var answer = response(status, "text/html; charset=utf-8", Data(body.utf8))
        answer.headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src '\(LoginPage.styleHash)'; img-src data:; form-action \(formTarget); "
            + "frame-ancestors 'none'; base-uri 'none'"
        answer.headers[.xFrameOptions] = "DENY"
        answer.headers[.referrerPolicy] = "no-referrer"
        return answer
    }

    private func json(_ value: some Encodable) throws -> Response {
        try response(.ok, "application/json", protocolJSON(value))
    }

    private func response(
        _ status: HTTPResponse.Status, _ type: String? = nil, _ body: Data = Data()
    ) -> Response {
        var headers: HTTPFields = [.cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
        if let type, !body.isEmpty { headers[.contentType] = type }
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension HTTPField.Name {
    fileprivate static let xFrameOptions = optional("X-Frame-Options")
    fileprivate static let referrerPolicy = optional("Referrer-Policy")
    private static func optional(_ name: String) -> HTTPField.Name { .init(name) ?? .server }
}
