internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird

/// The backend's HTTP routes. Each reads the request, calls the ``BackendServer``, and writes the answer.
struct BackendRoutes {
    private typealias Handler = @Sendable (BackendCall) async throws -> BackendAnswer

    let server: BackendServer

    func router() -> Router<LoopbackRequestContext> {
        let router = Router(context: LoopbackRequestContext.self)
        let paths = server.options.paths
        // In front of an identity provider.
        add(.get, paths.login, .browserLogin, to: router) { await server.beginLogin($0) }
        add(.post, paths.loginPage, .loginPage, to: router) { await server.continueLogin($0) }
        add(.post, paths.token, .token, to: router) { try await server.redeemCode($0) }
        add(.get, paths.me, .me, to: router) { try await server.me($0) }
        // User name and password.
        add(.post, paths.login, .login, to: router) { try await server.login($0) }
        add(.post, paths.refresh, .refresh, to: router) { try await server.refresh($0) }
        add(.post, paths.logout, .logout, to: router) { try await server.logout($0) }
        add(.post, paths.localLogout, .localLogout, to: router) { try await server.localLogout($0) }
        add(.post, paths.signUp, .signUp, to: router) { try await server.signUp($0) }
        add(.post, paths.forgotPassword, .forgotPassword, to: router) { try await server.forgotPassword($0) }
        add(.get, paths.sessions, .sessions, to: router) { try await server.listSessions($0) }
        add(.delete, "\(paths.sessions)/{id}", .endSession, to: router) { try await server.endSession($0) }
        // Detection, OAuth and API tokens.
        add(.get, paths.info, .info, to: router) { _ in try await server.info() }
        add(.post, paths.oauthClient, .oauthClient, to: router) { try await server.register($0) }
        add(.get, paths.authorize, .authorize, to: router) { try await server.authorize($0) }
        add(.post, paths.oauthToken, .oauthToken, to: router) { try await server.oauthToken($0) }
        add(.post, paths.oauthRevocation, .oauthRevocation, to: router) { try await server.revokeOAuthToken($0) }
        add(.post, paths.oauthDevice, .oauthDevice, to: router) { try await server.authorizeDevice($0) }
        add(.get, paths.devicePage, .devicePage, to: router) { try await server.showDevicePage($0) }
        add(.post, paths.devicePage, .devicePage, to: router) { try await server.connectDevice($0) }
        add(.post, paths.apiToken, .apiToken, to: router) { try await server.newAPIToken($0) }
        add(.get, paths.apiTokenPage, .apiTokenPage, to: router) { _ in await server.showAPITokenPage() }
        add(.get, paths.profile, .profile, to: router) { try await server.profile($0) }
        // Resources.
        add(.get, paths.items, .items, to: router) { try await server.listItems($0) }
        add(.post, paths.items, .items, to: router) { try await server.addItem($0) }
        add(.get, paths.moved, .moved, to: router) { _ in await server.moved() }
        add(.get, paths.elsewhere, .elsewhere, to: router) { _ in await server.elsewhere() }
        add(.post, paths.graphQL, .graphQL, to: router) { try await server.graphQL($0) }
        return router
    }

    /// Adds a route with a log entry. It misbehaves if a test has set a fault.
    private func add(
        _ method: HTTPRequest.Method, _ path: String, _ endpoint: BackendRequest.Endpoint,
        to router: Router<LoopbackRequestContext>, handler: @escaping Handler
    ) {
        router.on(RouterPath(path), method: method) { request, context in
            let call = try await call(request)
            let fault = await server.faults.begin(at: endpoint.description)
            var entry = BackendRequest(endpoint: endpoint, authorization: call.scheme, status: 0, outcome: .fault)
            if let response = fault?.answer {
                entry.status = Int(response.status.code)
                await server.log(entry)
                return response
            }
            let answer: BackendAnswer
            do {
                answer = try await handler(call)
            } catch let error as BackendError {
                answer = error.answer(at: endpoint)
            }
            entry.status = answer.status
            entry.outcome = fault?.kind == .swallowAnswer ? .answerSwallowed : answer.outcome
            entry.username = answer.username
            entry.grantType = answer.grantType
            entry.presentedGeneration = answer.presentedGeneration
            entry.issuedGeneration = answer.issuedGeneration
            await server.log(entry)
            await fault?.end(server.faults, context)
            return Self.response(answer)
        }
    }

    private func call(_ request: Request) async throws -> BackendCall {
        BackendCall(
            method: request.method.rawValue, authorization: request.headers[.authorization],
            proofs: request.headers[values: .dpop], path: request.uri.path, query: request.query,
            form: try await request.form(),
            json: request.hasBody("application/json") ? try await request.bodyData() : nil)
    }

    private static func response(_ answer: BackendAnswer) -> Response {
        var response: Response
        switch answer.content {
        case .json(let body): response = .json(body, status: .init(code: answer.status))
        case .page(let html, let target): response = .page(.init(code: answer.status), html, formTarget: target)
        case .redirect(let location):
            response = .plain(.init(code: answer.status))
            response.headers[.location] = location
        case .none: response = .plain(.init(code: answer.status))
        }
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        return response
    }
}
