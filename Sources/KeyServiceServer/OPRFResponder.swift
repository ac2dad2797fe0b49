internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceAudit
internal import KeyServiceCore
internal import NIOHTTP1
internal import VaultCrypto

/// The handler of the calls of the protocol's version 2.
struct OPRFResponder: Sendable {
    /// The result of a call.
    struct Outcome {
        var answer: Answer
        /// The error behind a refusal.
        var fault: (any Error)?
        /// The key of the call.
        var keyID: String?
        /// The event for the audit log.
        var event: AuditEvent.Kind?
    }

    let keeper: OPRFKeeper
    /// Nil if the service keeps no lists of devices.
    let devices: DeviceKeeper?
    let places: RequestPlaces
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
            return try await places.slowingRefusals {
                switch route {
                case .versions:
                    let claimWithin = keeper.endsUnclaimedKeys ? StoredKey.unclaimedLifetime : nil
                    return Outcome(
                        answer: try Answer(
                            json: ProtocolVersions(
                                versions: [2], devices: devices != nil, identity: keeper.identity?.current.announced,
                                claimWithin: claimWithin)))
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
        let made = try await places.withPlace { try await keeper.create(body, deadline: deadline) }
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
            let answered = try await places.withPlace {
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
            try await places.withPlace { try await keeper.confirm(id: id, body, deadline: deadline) }
            metrics.guess(.confirmed)
            return Outcome(answer: Self.done, keyID: id, event: .guessesConfirmed)
        case .end:
            let signature = try parsing.signature()
            try await places.withPlace { try await keeper.end(id: id, signature: signature, deadline: deadline) }
            return Outcome(answer: Self.done, keyID: id, event: .keyEnded)
        case .claim:
            guard let devices else { return Outcome(answer: .oprfNoSuchPath) }
            let signature = try parsing.signature()
            let token = try OPRFParsing.accessToken(request.headers)
            let owner = try await devices.owner(of: token, deadline: deadline)
            try await places.withPlace {
                try await devices.claim(id: id, signature: signature, for: owner, deadline: deadline)
            }
            return Outcome(answer: Self.done, keyID: id, event: .keyClaimed)
        }
    }

    /// Answers a call of an owner.
    private func answerOwner(
        _ route: OPRFRoute, _ request: Request, deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        guard let devices else { return Outcome(answer: .oprfNoSuchPath) }
        let parsing = try await OPRFParsing(request)
        let token = try OPRFParsing.accessToken(request.headers)
        guard case .device(let id, let call) = route else {
            let owner = try await devices.owner(of: token, deadline: deadline)
            let list = try await places.withPlace { try await devices.list(of: owner) }
            return Outcome(answer: try Answer(json: list))
        }
        try OPRFParsing.requireID(id)
        switch call {
        case .revoke:
            let owner = try await devices.owner(of: token, deadline: deadline)
            try await places.withPlace { try await devices.revoke(id: id, of: owner, deadline: deadline) }
            return Outcome(answer: Self.done, keyID: id, event: .ownerRevokes)
        case .rename:
            let label = try parsing.renameRequest()
            let owner = try await devices.owner(of: token, deadline: deadline)
            try await places.withPlace {
                try await devices.rename(id: id, label: label, of: owner, deadline: deadline)
            }
            return Outcome(answer: Self.done, keyID: id)
        }
    }

    private static let done = Answer(text: "{}", contentType: "application/json")
}
