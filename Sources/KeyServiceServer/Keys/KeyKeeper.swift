internal import Foundation
internal import KeyServiceAPI
internal import VaultCrypto

/// The maker and keeper of keys. It releases a key only for the right secret. All rules about guesses are here.
struct KeyKeeper: Sendable {
    /// The secret in a request for a key.
    enum Guess: Sendable {
        /// - renews: the client makes a new key after wrong guesses.
        case secret(String, renews: Bool)
        case longSecret(String)

        /// Whether the secret needs Argon2.
        var isStretched: Bool {
            if case .secret(let secret, _) = self { !KeyWrapping.isStrong(secret) } else { false }
        }
    }

    /// The longest wait for a guess on the same key at another instance.
    private static let patience = Duration.seconds(2)

    let masterKeys: MasterKeys
    let commits: GroupCommit
    let stretching: StretchingPool
    let argon2: Argon2Parameters
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    private let holds = KeyHolds()
    private let evaluation: GuessEvaluation

    init(
        masterKeys: MasterKeys, commits: GroupCommit, stretching: StretchingPool, argon2: Argon2Parameters,
        now: @escaping @Sendable () -> Int64
    ) {
        self.masterKeys = masterKeys
        self.commits = commits
        self.stretching = stretching
        self.argon2 = argon2
        self.now = now
        evaluation = GuessEvaluation(masterKeys: masterKeys, stretching: stretching)
    }

    /// Makes a key for a secret. It is durable when this returns.
    ///
    /// - Parameter deadline: after this time nobody waits for the answer.
    /// - Throws: ``KeyServiceServerError`` with code `busy`.
    func createKey(secret: String, deadline: ContinuousClock.Instant) async throws -> KeyResponse {
        let salt = (0..<KeyWrapping.saltSize).map { _ in UInt8.random(in: 0...255) }
        guard !KeyWrapping.isStrong(secret) else {
            return try await insertKey(secret: secret, .strong(salt: salt), deadline: deadline)
        }
        return try await stretching.withPlace(isNewKey: true) {
            try await insertKey(secret: secret, .stretched(salt: salt, argon2), deadline: deadline)
        }
    }

    private func insertKey(
        secret: String, _ details: KeyDetails, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        let id = UUID().uuidString.lowercased()
        let pair = try KeyPair()
        let record = try await evaluation.makeRecord(
            id: id, createdAt: now(), details: details, secret: secret, pair: pair, isNewKey: true)
        guard case .done = try await commits.commit(.insert(record), deadline: deadline) else {
            throw KeyServiceServerError(.storeUnusable, "Two keys have the same id.")
        }
        return pair.response(keyID: id)
    }

    /// Evaluates one guess, after all earlier guesses on the same key.
    ///
    /// - Parameters:
    ///   - deadline: after this time nobody waits for the answer.
    ///   - places: the limit of guesses under way, except stretched ones, which ``StretchingPool`` limits. A guess that
    ///     waits for another guess on its key takes no place. So one key cannot keep the others out.
    /// - Throws: ``KeyServiceServerError`` with code `wrongSecret`, `keyLocked`, `noSuchKey` or `busy`, or
    ///   ``RequestPlaces/Full``.
    func releaseKey(
        keyID: String, for guess: Guess, deadline: ContinuousClock.Instant,
        places: RequestPlaces = RequestPlaces(.max)
    ) async throws -> KeyResponse {
        try await holds.withHold(on: keyID) {
            switch guess {
            case .longSecret:
                try await places.withPlace { try await evaluateUncharged(guess, keyID: keyID, deadline: deadline) }
            case .secret where guess.isStretched:
                // The place comes before the charge: a client without a place must not lose a guess.
                try await stretching.withPlace(isNewKey: false) {
                    try await chargeAndEvaluate(guess, keyID: keyID, deadline: deadline)
                }
            case .secret:
                try await places.withPlace { try await chargeAndEvaluate(guess, keyID: keyID, deadline: deadline) }
            }
        }
    }

    /// Evaluates a long secret. Nobody can guess its 256 bits, and a count would only let others lock the key. Call it
    /// only while the key is held.
    private func evaluateUncharged(
        _ guess: Guess, keyID: String, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        let found = try await find(.find(keyID: keyID), deadline: deadline)
        do {
            let pair = try await evaluation.open(found.record, with: guess)
            commits.commitSoon(.noteUse(found.reference, time: now()))
            return pair.response(keyID: keyID, after: found.count)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            throw KeyServiceServerError.wrongSecret(guessesRemaining: nil)
        }
    }

    /// Charges a guess, and then evaluates it. Call it only while the key is held.
    private func chargeAndEvaluate(
        _ guess: Guess, keyID: String, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        let ticket = GuessTicket.random()
        // From here on the guess counts as wrong, even if this process dies.
        let found = try await find(.charge(keyID: keyID, ticket: ticket, time: now()), deadline: deadline)
        let count = found.count
        let remaining = found.limits.remaining(after: GuessCount(inARow: count.inARow + 1, inAll: count.inAll + 1))
        FaultPoint.charged.strike()
        let pair: KeyPair
        do {
            pair = try await evaluation.open(found.record, with: guess)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            commits.commitSoon(.settle(found.reference, ticket: ticket, .wrong))
            throw KeyServiceServerError.wrongSecret(guessesRemaining: remaining)
        } catch {
            // Out of memory or a damaged record: the client learned nothing about the secret.
            commits.commitSoon(.settle(found.reference, ticket: ticket, .unused(lastWrongAt: count.lastWrongAt)))
            throw error
        }
        FaultPoint.evaluated.strike()
        let response = pair.response(keyID: keyID, after: count)
        var result = GuessResult.right(time: now())
        if case .secret(_, let renews) = guess, renews && count.inARow > 0 {
            // The count stays until the client has made a new key. Otherwise a thief could go on guessing at this one.
            result = .rightAndKept(lastWrongAt: count.lastWrongAt, time: now())
        }
        try await settle(
            .settle(found.reference, ticket: ticket, result), isOnlyCharge: count.inARow == 0 && remaining > 0)
        FaultPoint.settled.strike()
        await modernize(found.record, guess, pair)
        return response
    }

    /// Looks up or charges a key. It waits a little for a guess on the same key at another instance of the service.
    private func find(_ change: KeyRecordChange, deadline: ContinuousClock.Instant) async throws -> FoundKey {
        let end = min(deadline, .now + Self.patience)
        while true {
            switch try await commits.commit(change, deadline: deadline) {
            case .found(let found): return found
            case .locked: throw KeyServiceServerError.keyLocked
            case .held where .now < end: try await Task.sleep(for: .milliseconds(.random(in: 2...20)))
            case .held: throw KeyServiceServerError.busy
            default: throw KeyServiceServerError.noSuchKey
            }
        }
    }

    /// Settles a right guess. It runs before the hold ends, so it counts before the next guess. If other charges
    /// remain, it is durable before the answer. Otherwise a crash could leave the key locked after a right guess.
    private func settle(_ change: KeyRecordChange, isOnlyCharge: Bool) async throws {
        guard !isOnlyCharge else { return commits.commitSoon(change) }
        do {
            _ = try await commits.commit(change, deadline: .now + GroupCommit.settlingTime)
        } catch {
            commits.commitSoon(change)
            throw error
        }
    }

    /// Seals a record of the first versions again, so that the master key can change. Only now is its secret known.
    private func modernize(_ record: KeyRecord, _ guess: Guess, _ pair: KeyPair) async {
        guard record.masterKeyID == .first, case .secret(let secret, _) = guess,
            let renewed = try? await evaluation.makeRecord(
                id: record.id, createdAt: record.createdAt, details: record.details, secret: secret,
                pair: pair, isNewKey: false)
        else { return }
        commits.commitSoon(.reseal(renewed, replaced: record.content))
    }
}

extension KeyPair {
    /// Returns the answer that gives out this pair.
    fileprivate func response(keyID: String, after count: GuessCount = GuessCount()) -> KeyResponse {
        var answer = KeyResponse(keyid: keyID, key: keyText(), longsecret: longSecretText())
        if count.inARow > 0 {
            answer.wrongGuesses = count.inARow
            answer.lastWrongGuessAt = count.lastWrongAt
        }
        return answer
    }
}
