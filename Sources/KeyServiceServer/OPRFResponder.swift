internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceAudit
internal import KeyServiceCore
internal import NIOHTTP1
internal import VaultCrypto

/// The handler of the calls of the protocol's version 2.
struct OPRFResponder: Sendable {
    let keeper: OPRFKeeper
    /// Nil if the service keeps no lists of devices.
    let devices: DeviceKeeper?
    let permits: RequestPermits
    let metrics: KeyServiceMetrics

    /// Answers a call.
    ///
    /// - Parameters:
    ///   - takeQuota: takes a new key from the client's quota, or throws.
    ///   - deadline: after this time nobody waits for the answer.
    /// - Throws: `HTTPParserError` if the body cannot be read.
    func answer(
        _ route: OPRFRoute, _ request: Request, deadline: ContinuousClock.Instant, takeQuota: () throws -> Void
    ) async throws -> Outcome {
        do {
            return try await permits.slowingRefusals {
                switch route {
                case .versions:
                    let claimWithin = keeper.endsUnclaimedKeys ? StoredKey.unclaimedLifetime : nil
                    return Outcome(
                        answer: try Answer(
                            json: ProtocolVersions(
                                versions: [2], devices: devices != nil, identity: keeper.identity?.current.announced,
                                claimWithin: claimWithin, ownerUnlock: devices?.mayUnlock == true ? true : nil)))
                case .openAPI:
                    let text = String(decoding: PackageResources.openapi_json, as: UTF8.self)
                    return Outcome(answer: Answer(text: text, contentType: "application/json"))
                case .create: return try await create(request, deadline: deadline, takeQuota: takeQuota)
                case .key(let id, let call): return try await self.call(call, id, request, deadline: deadline)
                case .devices, .device: return try await answerOwner(route, request, deadline: deadline)
                }
            }
        } catch let error as HTTPParserError {
            throw error  // The server answers the error, and closes the connection.
        } catch {
            guard case .key(let id, _) = route else { return refusal(error, of: nil) }
            return refusal(error, of: id)
        }
    }

    /// Returns the answer for an error.
    private func refusal(_ error: any Error, of id: String?) -> Outcome {
        var outcome = Outcome(answer: Answer(oprf: error), fault: error)
        guard let refusal = error as? StoredKey.Refusal else { return outcome }
        outcome.keyID = id
        if refusal == .locked {
            metrics.guess(.locked)
            outcome.event = .refusedLocked
        }
        return outcome
    }

    private func create(
        _ request: Request, deadline: ContinuousClock.Instant, takeQuota: () throws -> Void
    ) async throws -> Outcome {
        let body = try await OPRFParsing(request).createRequest()
        try takeQuota()
        let made = try await permits.withPermit { try await keeper.create(body, deadline: deadline) }
        return Outcome(answer: try Answer(json: made), keyID: body.id, event: .keyMade)
    }

    private func call(
        _ call: OPRFPath.Call, _ id: String, _ request: Request, deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        let parsing = try await OPRFParsing(request)
        try OPRFParsing.requireID(id)
        switch call {
        case .evaluate:
            let authorization = try parsing.authorization(request.headers, id: id)
            let blinded = try parsing.evaluateRequest()
            let answered = try await permits.withPermit {
                try await keeper.evaluate(
                    id: id, blinded: blinded, authorization: authorization, deadline: deadline)
            }
            var outcome: Outcome
            switch answered.result {
            case .success(let evaluation):
                metrics.guess(.opened)
                outcome = Outcome(answer: Answer(evaluation), keyID: id, event: .guessOpened)
            case .failure(let error): outcome = refusal(error, of: id)
            }
            try outcome.answer.authenticate(id, authorization, answered.requestKey.bytes)
            return outcome
        case .confirm:
            let body = try parsing.confirmRequest()
            try await permits.withPermit { try await keeper.confirm(id: id, body, deadline: deadline) }
            metrics.guess(.confirmed)
            return Outcome(answer: Self.done, keyID: id, event: .guessesConfirmed)
        case .end:
            let signature = try parsing.signature()
            try await permits.withPermit { try await keeper.end(id: id, signature: signature, deadline: deadline) }
            return Outcome(answer: Self.done, keyID: id, event: .keyEnded)
        case .claim: return try await claim(id, parsing, request, deadline: deadline)
        }
    }

    static let done = Answer(text: "{}", contentType: "application/json")
}

/// The paths of the protocol's version 2.
enum OPRFRoute: Hashable {
    case versions, openAPI, create
    case key(id: String, OPRFPath.Call)
    case devices
    case device(id: String, OPRFPath.DeviceCall)

    /// The path of the OpenAPI document.
    private static let openAPIPath = OPRFPath.base + "/openapi.json"

    /// - Parameters:
    ///   - path: the path of a request.
    ///   - basePath: the base path of the service.
    init?(_ path: String, basePath: String) {
        guard path.hasPrefix(basePath + OPRFPath.base) else { return nil }
        let path = path.dropFirst(basePath.count)
        switch path {
        case Substring(OPRFPath.base): self = .versions
        case Substring(Self.openAPIPath): self = .openAPI
        case Substring(OPRFPath.keys): self = .create
        case Substring(OPRFPath.devices): self = .devices
        default:
            // /keyservice/v2/keys/ID/CALL
            let parts = path.utf8.dropFirst(OPRFPath.base.utf8.count + 1)
                .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
            guard parts.count == 3 else { return nil }
            let folder = "\(OPRFPath.base)/\(parts[0])"
            if folder == OPRFPath.keys, let call = OPRFPath.Call(rawValue: String(parts[2])) {
                self = .key(id: String(parts[1]), call)
            } else if folder == OPRFPath.devices, let call = OPRFPath.DeviceCall(rawValue: String(parts[2])) {
                self = .device(id: String(parts[1]), call)
            } else {
                return nil
            }
        }
    }

    /// The route in the log and in the metrics.
    var route: ServiceRoute {
        switch self {
        case .versions: .versions
        case .openAPI: .openAPI
        case .create: .create
        case .key(_, .evaluate): .evaluate
        case .key(_, .confirm): .confirm
        case .key(_, .end): .end
        case .key(_, .claim): .claim
        case .devices: .devices
        case .device(_, .revoke): .revoke
        case .device(_, .rename): .rename
        case .device(_, .unlock): .unlock
        }
    }

    /// The allowed methods, as in the field `Allow`.
    var methods: String { onlyReads ? "GET, HEAD" : "POST" }

    func allows(_ method: HTTPRequest.Method) -> Bool {
        onlyReads ? method == .get || method == .head : method == .post
    }

    private var onlyReads: Bool { self == .versions || self == .openAPI }
}
