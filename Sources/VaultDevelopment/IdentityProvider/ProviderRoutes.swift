internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird

/// The provider's HTTP routes. Each reads the request, calls the ``AuthorizationServer``, and writes the answer.
struct ProviderRoutes {
    let server: AuthorizationServer
    private var options: DevelopmentIdentityProvider.Options { server.options }

    func router() -> Router<LoopbackRequestContext> {
        let router = Router(context: LoopbackRequestContext.self)
        for document in options.metadataDocuments {
            add(.get, document.path, document.endpoint, to: router) { _, _ in try await metadata(document) }
        }
        add(.get, "/jwks", .keys, to: router) { _, _ in
            await server.log(.init(.keys, .ok))
            return try await cacheable(.json(protocolJSON(server.keySet())))
        }
        add(.get, "/authorize", .authorization, to: router) { request, _ in
            await page(for: server.authorize(request.query))
        }
        add(.post, "/authorize", .authorization, to: router) { request, _ in
            await page(for: server.authorize(try request.form()))
        }
        add(.post, "/login", .login, to: router) { request, _ in await page(for: server.login(try request.form())) }
        // The token endpoint handles its faults itself.
        router.post("/token") { request, context in
            let answer = await server.token(try await clientRequest(request))
            if answer.isSwallowed { try? await context.channel.close() }
            var response = Response.plain(.init(code: answer.status), answer.type, answer.body)
            response.headers[.wwwAuthenticate] = answer.challenge
            response.headers[.retryAfter] = answer.retryAfter.map(String.init)
            response.headers[.dpopNonce] = await server.announcedNonce
            return response
        }
        if options.pushedAuthorization.isOffered {
            add(.post, "/par", .pushedAuthorization, to: router) { request, _ in
                .json(try await server.push(try await clientRequest(request)), status: .created)
            }
        }
        add(.post, "/revoke", .revocation, to: router) { request, _ in
            try await server.revoke(try await clientRequest(request))
            return .plain(.ok)
        }
        for method in [HTTPRequest.Method.get, .post] {
            add(method, "/userinfo", .userInfo, to: router) { request, _ in try await userInfo(request) }
        }
        addDeviceRoutes(to: router)
        addRegistrationRoutes(to: router)
        if options.offersEndSession {
            add(.get, "/end_session", .endSession, to: router) { request, _ in
                await page(for: server.endSession(request.query))
            }
            add(.post, "/end_session", .endSession, to: router) { request, _ in
                await page(for: server.endSession(try request.form()))
            }
        }
        return router
    }

    private func addDeviceRoutes(to router: Router<LoopbackRequestContext>) {
        guard options.offersDeviceAuthorization else { return }
        add(.post, "/device_authorization", .deviceAuthorization, to: router) { request, _ in
            .json(try await server.authorizeDevice(try await clientRequest(request)))
        }
        add(.get, "/device", .devicePage, to: router) { request, _ in
            await page(for: server.showDevicePage(request.query))
        }
        add(.post, "/device", .devicePage, to: router) { request, _ in
            await page(for: server.continueDevice(try request.form()))
        }
    }

    private func addRegistrationRoutes(to router: Router<LoopbackRequestContext>) {
        guard options.offersRegistration else { return }
        add(.post, "/register", .registration, to: router) { request, _ in
            try await registration {
                guard request.hasBody("application/json") else {
                    throw OAuthError("invalid_client_metadata", "The body is not JSON.")
                }
                return .json(try await server.register(try await request.bodyData()), status: .created)
            }
        }
        add(.get, "/register/:client", .registration, to: router) { request, context in
            try await registration {
                .json(try await server.registration(context.parameters.require("client"), token: bearer(request)))
            }
        }
        add(.delete, "/register/:client", .registration, to: router) { request, context in
            try await registration {
                try await server.unregister(context.parameters.require("client"), token: bearer(request))
                return .plain(.noContent)
            }
        }
    }

    private func registration(_ answer: () async throws -> Response) async throws -> Response {
        do {
            return try await answer()
        } catch let error as OAuthError {
            await server.log(.init(.registration, error.outcome))
            throw error
        }
    }

    // MARK: Endpoints

    private func metadata(_ document: DevelopmentIdentityProvider.MetadataDocument) async throws -> Response {
        await server.log(.init(document.endpoint, .ok))
        var metadata = ProviderMetadataDocument(
            options, issuer: await server.issuer, grantTypes: await server.grantTypes)
        if document == .openID { metadata.remove(options.membersOnlyInOAuthMetadata) }
        return cacheable(.json(try protocolJSON(metadata)))
    }

    /// The UserInfo endpoint (OpenID Connect Core section 5.3; errors by RFC 6750 section 3 and RFC 9449 section 7.1).
    private func userInfo(_ request: Request) async throws -> Response {
        let resource = AuthorizationServer.ResourceRequest(
            authorization: request.headers[.authorization], proofs: request.headers[values: .dpop],
            method: request.method.rawValue, url: await "\(server.issuer)/userinfo")
        do {
            let access = try await server.access(resource)
            var entry = ProviderRequest(.userInfo, .ok, username: access.user.username)
            entry.dpopThumbprint = access.thumbprint
            await server.log(entry)
            return .json(try protocolJSON(IDTokenClaims(user: access.user, scope: access.scope)))
        } catch let error as OAuthError {
            await server.log(.init(.userInfo, error.outcome))
            var answer = Response.plain(.init(code: error.status))
            answer.headers[.wwwAuthenticate] = error.challenge
            return answer
        }
    }

    // MARK: Reading and writing

    /// Adds a route that turns protocol errors into answers. It misbehaves if a test has set a fault.
    private func add(
        _ method: HTTPRequest.Method, _ path: String, _ endpoint: ProviderRequest.Endpoint,
        to router: Router<LoopbackRequestContext>,
        handler: @escaping @Sendable (Request, LoopbackRequestContext) async throws -> Response
    ) {
        router.on(RouterPath(path), method: method) { request, context in
            let fault = await server.faults.begin(at: endpoint.description)
            if let answer = fault?.answer {
                await server.log(.init(endpoint, .fault))
                return answer
            }
            var answer: Response
            do {
                answer = try await handler(request, context)
            } catch let error as OAuthError {
                answer = Self.answer(to: error)
            }
            answer.headers[.dpopNonce] = await server.announcedNonce
            await fault?.end(server.faults, context)
            return answer
        }
    }

    private static func answer(to error: OAuthError) -> Response {
        var response = Response.json(errorBody(error), status: .init(code: error.status))
        response.headers[.wwwAuthenticate] = error.challenge
        return response
    }

    private func clientRequest(_ request: Request) async throws -> ClientRequest {
        ClientRequest(
            form: try await request.form(), authorization: request.headers[.authorization],
            proofs: request.headers[values: .dpop])
    }

    private func bearer(_ request: Request) -> String? {
        guard let header = request.headers[.authorization], header.lowercased().hasPrefix("bearer ") else { return nil }
        return String(header.dropFirst(7))
    }

    private func cacheable(_ response: Response) -> Response {
        guard let lifetime = options.metadataLifetime else { return response }
        var response = response
        response.headers[.cacheControl] = "public, max-age=\(lifetime)"
        return response
    }
}
