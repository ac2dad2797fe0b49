internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import Logging
internal import NIOHTTP1

/// The handler and logger of requests, with a few fixed paths. It answers a wrong method with 405, as a client would
/// read 404 as "no such key".
struct KeyServiceResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    private enum Route: String {
        case createKey = "createkey"
        case key
        case alive = "healthz"
        case ready = "readyz"

        var method: HTTPRequest.Method {
            self == .createKey || self == .key ? .post : .get
        }
    }

    private let routes: [String: Route]
    private let keeper: KeyKeeper
    private let watch: StoreWatch
    private let logger: Logger
    private let keyTags: KeyTags

    /// The time in which a request is answered, or refused as "busy".
    private static let timeLimit = Duration.seconds(10)

    init(basePath: String, keeper: KeyKeeper, watch: StoreWatch, logger: Logger, keyTags: KeyTags) {
        self.keeper = keeper
        self.watch = watch
        self.logger = logger
        self.keyTags = keyTags
        var routes: [String: Route] = ["/healthz": .alive, "/readyz": .ready]
        routes[basePath + "/healthz"] = .alive
        routes[basePath + "/readyz"] = .ready
        routes[basePath + KeyServicePath.createKey] = .createKey
        routes[basePath + KeyServicePath.key] = .key
        self.routes = routes
    }

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        // The unknown path is not logged: a confused client may have put a secret into it.
        guard let route = routes[request.uri.path] else {
            logger.info("No such path", metadata: ["status": "404"])
            return Answer.noSuchPath.response()
        }
        guard request.method == route.method else {
            logger.info("Wrong method", metadata: ["route": .string(route.rawValue), "status": "405"])
            return Answer.methodNotAllowed(allowed: route.method.rawValue).response()
        }
        switch route {
        case .alive: return try Answer(.ok, Health(status: "alive")).response()
        case .ready: return await ready().response()
        case .createKey, .key: return try await serve(route, request)
        }
    }

    private struct Health: Encodable {
        let status: String
    }

    private func ready() async -> Answer {
        do {
            try await watch.checkIn()
            return try Answer(.ok, Health(status: "ready"))
        } catch {
            logger.error("Not ready", metadata: ["error": "\(error)"])
            return Answer(KeyServiceServerError.busy)
        }
    }

    private func serve(_ route: Route, _ request: Request) async throws -> Response {
        let start = ContinuousClock.now
        var keyID: String?
        var fault: (any Error)?
        let answer: Answer
        do {
            let deadline = start + Self.timeLimit
            let key: KeyResponse
            if route == .createKey {
                let secret = try await RequestParsing.createKeyRequest(request).secret
                key = try await keeper.createKey(secret: secret, deadline: deadline)
            } else {
                let (id, guess) = try await RequestParsing.keyRequest(request)
                keyID = id
                key = try await keeper.releaseKey(keyID: id, for: guess, deadline: deadline)
            }
            keyID = key.keyid
            answer = Answer(key)
        } catch let error as HTTPParserError {
            throw error  // The server answers the error, and closes the connection.
        } catch {
            fault = error
            answer = Answer(error)
        }
        log(route, answer, fault: fault, keyID: keyID, duration: ContinuousClock.now - start)
        return answer.response()
    }

    /// Logs a request without its body. A tag replaces the id of the key.
    private func log(_ route: Route, _ answer: Answer, fault: (any Error)?, keyID: String?, duration: Duration) {
        let level: Logger.Level = answer.status == .internalServerError ? .error : .info
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "method": .string(route.method.rawValue),
            "route": .string(route.rawValue),
            "status": .stringConvertible(answer.status.code),
            "duration_us": .stringConvertible(Int(duration / .microseconds(1))),
        ]
        if let keyID { metadata["keytag"] = .string(keyTags.tag(of: keyID)) }
        if level == .error, let fault { metadata["error"] = .string(String(describing: fault)) }
        logger.log(level: level, "Request", metadata: metadata)
    }
}
