internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceAudit
internal import KeyServiceCore

// The calls of an owner, who shows an access token.
extension OPRFResponder {
    /// Puts a key on the list of its owner.
    func claim(
        _ id: String, _ parsing: OPRFParsing, _ request: Request, deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        guard let devices else { return Outcome(answer: .oprfNoSuchPath) }
        let signature = try parsing.signature()
        let token = try OPRFParsing.accessToken(request.headers, path: OPRFPath.key(id, .claim))
        let owner = try await devices.owner(of: token, deadline: deadline)
        try await permits.withPermit {
            try await devices.claim(id: id, signature: signature, for: owner, deadline: deadline)
        }
        return Outcome(answer: Self.done, keyID: id, event: .keyClaimed)
    }

    /// Answers a call about the list of an owner.
    func answerOwner(
        _ route: OPRFRoute, _ request: Request, deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        guard let devices else { return Outcome(answer: .oprfNoSuchPath) }
        let parsing = try await OPRFParsing(request)
        guard case .device(let id, let call) = route else {
            let token = try OPRFParsing.accessToken(request.headers, path: OPRFPath.devices)
            let owner = try await devices.owner(of: token, deadline: deadline)
            let list = try await permits.withPermit { try await devices.list(of: owner) }
            return Outcome(answer: try Answer(json: list))
        }
        if call == .unlock, !devices.mayUnlock { return Outcome(answer: .oprfNoSuchPath) }
        try OPRFParsing.requireID(id)
        let token = try OPRFParsing.accessToken(request.headers, path: OPRFPath.device(id, call))
        switch call {
        case .revoke:
            let owner = try await devices.owner(of: token, deadline: deadline)
            try await permits.withPermit { try await devices.revoke(id: id, of: owner, deadline: deadline) }
            return Outcome(answer: Self.done, keyID: id, event: .ownerRevokes)
        case .rename:
            let label = try parsing.renameRequest()
            let owner = try await devices.owner(of: token, deadline: deadline)
            try await permits.withPermit {
                try await devices.rename(id: id, label: label, of: owner, deadline: deadline)
            }
            return Outcome(answer: Self.done, keyID: id)
        case .unlock:
            let owner = try await devices.owner(of: token, deadline: deadline)
            let wasLocked = try await permits.withPermit {
                try await devices.unlock(id: id, of: owner, deadline: deadline)
            }
            return Outcome(answer: Self.done, keyID: id, event: wasLocked ? .ownerUnlocks : nil)
        }
    }
}
