internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceCore
internal import NIOHTTP1

/// The handler of the calls of the protocol's version 1.
struct ReleasedKeyResponder: Sendable {
    let keeper: KeyKeeper
    let permits: RequestPermits
    let metrics: KeyServiceMetrics

    /// Answers a call.
    ///
    /// - Parameters:
    ///   - takeQuota: takes a new key from the client's quota, or throws.
    ///   - deadline: after this time nobody waits for the answer.
    /// - Throws: `HTTPParserError` if the body cannot be read.
    func answer(
        _ route: ServiceRoute, _ request: Request, deadline: ContinuousClock.Instant, takeQuota: () throws -> Void
    ) async throws -> Outcome {
        var keyID: String?
        do {
            let key: KeyResponse
            if route == .createKey {
                key = try await create(request, deadline: deadline, takeQuota: takeQuota)
            } else {
                let (id, guess) = try await RequestParsing.keyRequest(request)
                keyID = id
                key = try await release(id, guess, deadline: deadline)
            }
            return Outcome(answer: Answer(key), keyID: key.keyid)
        } catch let error as HTTPParserError {
            throw error  // The server answers the error, and closes the connection.
        } catch {
            return Outcome(answer: Answer(error), fault: error, keyID: keyID)
        }
    }

    private func create(
        _ request: Request, deadline: ContinuousClock.Instant, takeQuota: () throws -> Void
    ) async throws -> KeyResponse {
        let secret = try await RequestParsing.createKeyRequest(request).secret
        try takeQuota()
        return try await permits.slowingRefusals {
            guard KeyWrapping.isStrong(secret) else {
                // Argon2 has its own permits, because it holds them much longer.
                return try await keeper.createKey(secret: secret, deadline: deadline)
            }
            return try await permits.withPermit {
                try await keeper.createKey(secret: secret, deadline: deadline)
            }
        }
    }

    private func release(
        _ keyID: String, _ guess: KeyKeeper.Guess, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        do {
            let key = try await permits.slowingRefusals {
                try await keeper.releaseKey(keyID: keyID, for: guess, deadline: deadline, permits: permits)
            }
            metrics.guess(.right)
            return key
        } catch let error as KeyServiceServerError {
            if error.code == .wrongSecret { metrics.guess(.wrong) }
            if error.code == .keyLocked { metrics.guess(.locked) }
            throw error
        }
    }
}
