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
        if (400..<500).contains(response.status.code), Self.isOfClient(request) {
            refusals.count(client, at: MonotonicTime.now())
        }
        return response
    }

    /// Whether a program of a client sent the request. A web page can make browsers send other requests. Those reach no
    /// key, and must not use up the limit of a whole hospital.
    private static func isOfClient(_ request: Request) -> Bool {
        request.method == .post && OPRFParsing.isJSON(request.headers[.contentType])
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
        let isOPRF = request.uri.path.hasPrefix(basePath + OPRFPath.base)
        let (route, answered) =
            try await isOPRF
            ? respondInVersion2(to: request, context.channel, since: start)
            : respondInVersion1(to: request, context.channel, since: start)
        var response = answered
        metrics.request(route, status: response.status.code, duration: start.duration(to: .now))
        // An answer to HEAD has no body: the client would take it for the next answer.
        if request.method == .head { response.body = ResponseBody() }
        return response
    }

    /// Answers a call of version 1, or a path of no version.
    private func respondInVersion1(
        to request: Request, _ channel: any Channel, since start: ContinuousClock.Instant
    ) async throws -> (ServiceRoute, Response) {
        let route = routes[request.uri.path] ?? .none
        switch route {
        case .createKey, .key:
            if request.method == .post {
                return (route, try await serve(route, request, channel, since: start).response())
            }
            log.refusal(route, status: 405)
            return (route, Answer.methodNotAllowed(allowed: "POST").response())
        case .alive, .ready: return (route, await health.answer(route, request.method))
        default:
            log.refusal(route, status: 404)
            return (route, Answer.noSuchPath.response())
        }
    }

    private func respondInVersion2(
        to request: Request, _ channel: any Channel, since start: ContinuousClock.Instant
    ) async throws -> (ServiceRoute, Response) {
        guard let path = OPRFRoute(request.uri.path, basePath: basePath) else {
            log.refusal(.none, status: 404)
            return (.none, Answer.oprfNoSuchPath.response())
        }
        guard path.allows(request.method) else {
            log.refusal(path.route, status: 405)
            return (path.route, Answer.oprfMethodNotAllowed(allowed: path.methods).response())
        }
        return (path.route, try await serve(path, request, channel, since: start).response())
    }

    private func serve(
        _ path: OPRFRoute, _ request: Request, _ channel: any Channel, since start: ContinuousClock.Instant
    ) async throws -> Answer {
        var outcome: Outcome
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
            outcome = Outcome(answer: Answer(oprf: error), fault: error)
        }
        log.request(path.route, outcome, duration: start.duration(to: .now))
        return outcome.answer
    }

    private func serve(
        _ route: ServiceRoute, _ request: Request, _ channel: any Channel, since start: ContinuousClock.Instant
    ) async throws -> Answer {
        var outcome: Outcome
        do {
            try audit?.checkWorking()
            outcome = try await releasedKeys.answer(route, request, deadline: start + Self.timeLimit) {
                try takeQuota(request, channel)
            }
        } catch let error as HTTPParserError {
            throw error  // The server answers the error, and closes the connection.
        } catch {
            outcome = Outcome(answer: Answer(error), fault: error)
        }
        do {
            try await audit?.record(
                AuditEvent.events(
                    madeKey: route == .createKey, error: outcome.fault, keytag: outcome.keyID.map(log.tag)))
        } catch {
            outcome.fault = error
            outcome.answer = Answer(error)
        }
        log.request(route, outcome, duration: start.duration(to: .now))
        return outcome.answer
    }

    private func client(of request: Request, _ channel: any Channel) -> NetworkAddress? {
        proxies.client(
            peer: NetworkAddress(channel.remoteAddress),
            forwarded: Self.forwardedField.map { request.headers[values: $0] } ?? [])
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

/// The result of a call.
struct Outcome {
    var answer: Answer
    /// The error behind a refusal.
    var fault: (any Error)?
    /// The key of the call.
    var keyID: String?
    /// The event for the audit log; nil in version 1, where the events follow from the error.
    var event: AuditEvent.Kind?
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
