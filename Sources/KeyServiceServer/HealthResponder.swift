internal import HTTPTypes
internal import Hummingbird

/// The answers for programs that watch the service. The service gives them to its clients as well, except the metrics.
struct HealthResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    private static let routes: [String: ServiceRoute] = [
        "/healthz": .alive, "/readyz": .ready, "/metrics": .metrics,
    ]

    let readiness: Readiness
    let metrics: KeyServiceMetrics
    /// Returns all metrics, as text for Prometheus; nil if there are none.
    let metricsText: (@Sendable () -> String)?

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        let start = ContinuousClock.now
        let route = Self.routes[request.uri.path] ?? .none
        let response = await answer(route, request.method)
        metrics.request(route, status: response.status.code, duration: start.duration(to: .now))
        return response
    }

    func answer(_ route: ServiceRoute, _ method: HTTPRequest.Method) async -> Response {
        guard route == .none || method == .get || method == .head else {
            return Answer.methodNotAllowed(allowed: "GET, HEAD").response()
        }
        let answer: Answer =
            switch route {
            case .alive: .alive
            case .ready: await readiness.isReady ? .ready : .busy
            case .metrics: figures()
            default: .noSuchPath
            }
        let response = answer.response()
        return method == .head ? response.createHeadResponse() : response
    }

    private func figures() -> Answer {
        guard let metricsText else { return .noSuchPath }
        // The readiness is one of the figures. The others must not wait for a store that hangs.
        readiness.refresh()
        return Answer(text: metricsText(), contentType: "text/plain; version=0.0.4; charset=utf-8")
    }
}

extension Answer {
    fileprivate static let alive = health("alive")
    fileprivate static let ready = health("ready")

    private static func health(_ status: String) -> Answer {
        Answer(text: #"{"status":"\#(status)"}"#, contentType: "application/json")
    }
}
