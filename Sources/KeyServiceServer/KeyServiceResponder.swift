internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceAudit
internal import KeyServiceCore
internal import NIOCore
internal import NIOHTTP1

/// The handler and logger of requests, with a few fixed paths. It answers a wrong method with 405: a client would
/// read 404 as "no such key".
struct KeyServiceResponder: HTTPResponder {
    typealias Context = KeyServiceContext

    /// The time in which a request is answered, or refused as "busy".
    private static let timeLimit = Duration.seconds(10)
    private static let forwardedField = HTTPField.Name("X-Forwarded-For")

    private let routes: [String: ServiceRoute]
    private let basePath: String
    private let oprf: OPRFResponder
    private let releasedKeys: ReleasedKeyResponder
    private let health: HealthResponder
    private let quota: CreateQuota
    private let refusals: RefusalQuota
    private let proxies: TrustedProxies
    private let metrics: KeyServiceMetrics
    private let log: RequestLog
    private let audit: AuditLog?

    init(
        configuration: KeyServiceServerConfiguration, proxies: TrustedProxies, keeper: KeyKeeper,
        oprf: OPRFKeeper, devices: DeviceKeeper?, health: HealthResponder, metrics: KeyServiceMetrics,
        log: RequestLog,
        audit: AuditLog?
    ) {
        self.health = health
        self.proxies = proxies
        self.metrics = metrics
        self.log = log
        self.audit = audit
        quota = CreateQuota(perHour: configuration.createsPerHour, totalPerHour: configuration.createsPerHourTotal)
        refusals = RefusalQuota(perMinute: configuration.refusalsPerMinute)
        let permits = RequestPermits(configuration.maxRequestsUnderWay)
        self.oprf = OPRFResponder(keeper: oprf, devices: devices, permits: permits, metrics: metrics)
        releasedKeys = ReleasedKeyResponder(keeper: keeper, permits: permits, metrics: metrics)
        let basePath = configuration.basePath
        self.basePath = basePath
        var routes: [String: ServiceRoute] = ["/healthz": .alive, "/readyz": .ready]
        routes[basePath + "/healthz"] = .alive
        routes[basePath + "/readyz"] = .ready
        routes[basePath + KeyServicePath.createKey] = .createKey
        routes[basePath + KeyServicePath.key] = .key
        self.routes = routes
    }

    func respond(to request: Request, context: KeyServiceContext) async throws -> Response {
        switch routes[request.uri.path] {
        case .alive?, .ready?: return try await answer(request, context)
        default: break
        }
        // The connection has no address any more after its end.
        let client = client(of: request, context.channel)
        do {
            try refusals.check(client, at: MonotonicTime.now())
        } catch {
            return limited(request, error)
        }
        let response = try await answer(request, context)
        if (400..<500).contains(response.status.code) { refusals.count(client, at: MonotonicTime.now()) }
        return response
    }

    /// Returns the answer to a request of an address that has sent too many refused ones. It has no log line of its own.
    private func limited(_ request: Request, _ refusal: RefusalQuota.Exceeded) -> Response {
        metrics.requestLimited()
        audit?.note(AuditEvent(.requestsLimited))
        if let count = refusal.unreported { log.limited(count) }
        let isVersion2 = request.uri.path.hasPrefix(basePath + OPRFPath.base)
        var response = (isVersion2 ? Answer(oprf: refusal) : Answer(refusal)).response()
        if request.method == .head { response.body = ResponseBody() }
        return response
    }

    private func answer(_ request: Request, _ context: KeyServiceContext) async throws -> Response {
        let start = ContinuousClock.now
        if request.uri.path.hasPrefix(basePath + OPRFPath.base) {
            return try await respondInVersion2(to: request, context: context, since: start)
        }
        let route = routes[request.uri.path] ?? .none
        var response: Response
        switch route {
        case .createKey, .key:
            if request.method == .post {
                let answer = try await serve(route, request, context.channel, since: start)
                response = answer.response()
            } else {
                log.refusal(route, status: 405)
                response = Answer.methodNotAllowed(allowed: "POST").response()
            }
        case .alive, .ready: response = await health.answer(route, request.method)
        default:
            log.refusal(route, status: 404)
            response = Answer.noSuchPath.response()
        }
        metrics.request(route, status: response.status.code, duration: start.duration(to: .now))
        // An answer to HEAD has no body: the client would take it for the next answer.
        if request.method == .head { response.body = ResponseBody() }
        return response
    }

    private func respondInVersion2(
        to request: Request, context: KeyServiceContext, since start: ContinuousClock.Instant
    ) async throws -> Response {
        let path = OPRFRoute(request.uri.path, basePath: basePath)
        let route = path?.route ?? .none
        var response: Response
        if let path, path.allows(request.method) {
            response = try await serve(path, request, context.channel, since: start).response()
        } else if let path {
            log.refusal(route, status: 405)
            response = Answer.oprfMethodNotAllowed(allowed: path.methods).response()
        } else {
            log.refusal(route, status: 404)
            response = Answer.oprfNoSuchPath.response()
        }
        metrics.request(route, status: response.status.code, duration: start.duration(to: .now))
        if request.method == .head { response.body = ResponseBody() }
        return response
    }

    private func serve(
        _ path: OPRFRoute, _ request: Request, _ channel: any Channel, since start: ContinuousClock.Instant
    ) async throws -> Answer {
        var outcome: OPRFResponder.Outcome
        do {
            try audit?.checkWorking()
            outcome = try await oprf.answer(path, request, deadline: start + Self.timeLimit) {
                try takeQuota(request, channel)
            }
            if let event = outcome.event {
                try await audit?.record([AuditEvent(event, keytag: outcome.keyID.map(log.tag))])
            }
        } catch let error as HTTPParserError {
            throw error  // The server answers the error, and closes the connection.
        } catch {
            outcome = OPRFResponder.Outcome(answer: Answer(oprf: error), fault: error)
        }
        log.request(
            path.route, status: outcome.answer.status.code, fault: outcome.fault, keyID: outcome.keyID,
            duration: start.duration(to: .now))
        return outcome.answer
    }

    private func serve(
        _ route: ServiceRoute, _ request: Request, _ channel: any Channel, since start: ContinuousClock.Instant
    ) async throws -> Answer {
        var outcome: ReleasedKeyResponder.Outcome
        do {
            try audit?.checkWorking()
            outcome = try await releasedKeys.answer(route, request, deadline: start + Self.timeLimit) {
                try takeQuota(request, channel)
            }
        } catch let error as HTTPParserError {
            throw error  // The server answers the error, and closes the connection.
        } catch {
            outcome = ReleasedKeyResponder.Outcome(answer: Answer(error), fault: error)
        }
        do {
            try await audit?.record(
                AuditEvent.events(
                    madeKey: route == .createKey, error: outcome.fault, keytag: outcome.keyID.map(log.tag)))
        } catch {
            outcome.fault = error
            outcome.answer = Answer(error)
        }
        log.request(
            route, status: outcome.answer.status.code, fault: outcome.fault, keyID: outcome.keyID,
            duration: start.duration(to: .now))
        return outcome.answer
    }

    private func client(of request: Request, _ channel: any Channel) -> NetworkAddress? {
        let forwarded = Self.forwardedField.map { request.headers[values: $0] } ?? []
        return proxies.client(peer: NetworkAddress(channel.remoteAddress), forwarded: forwarded)
    }

    private func takeQuota(_ request: Request, _ channel: any Channel) throws {
        do {
            try quota.take(client(of: request, channel), at: MonotonicTime.now())
        } catch {
            metrics.createRefused(error.limit)
            throw error
        }
    }
}

/// The context of a request, with its connection.
struct KeyServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
