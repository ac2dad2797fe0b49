internal import Foundation
package import KeyServiceAPI
package import VaultCrypto

/// The maker and keeper of keys. It releases a key only for the right secret. The rules about guesses
/// are in `StoredKey+Guesses.swift`.
package struct KeyKeeper: Sendable {
    /// The secret in a request for a key.
    package enum Guess: Sendable {
        /// - renews: the client makes a new key after wrong guesses.
        case secret(String, renews: Bool)
        case longSecret(String)

        /// Whether the secret needs Argon2.
        var isStretched: Bool {
            if case .secret(let secret, _) = self { !KeyWrapping.isStrong(secret) } else { false }
        }
    }

    /// The longest wait for a guess on the same key at another instance.
    private static let timeout = Duration.seconds(2)

    let masterKeys: MasterKeys
    let commits: GroupCommit
    let stretching: StretchingPool
    let argon2: Argon2Parameters
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    private let holds = KeyQueues()
    private let evaluation: GuessEvaluation

    package init(
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
    package func createKey(secret: String, deadline: ContinuousClock.Instant) async throws -> KeyResponse {
        let salt = (0..<KeyWrapping.saltSize).map { _ in UInt8.random(in: 0...255) }
        guard !KeyWrapping.isStrong(secret) else {
            return try await insertKey(secret: secret, .strong(salt: salt), deadline: deadline)
        }
        return try await stretching.withPermit(isNewKey: true) {
            try await insertKey(secret: secret, .stretched(salt: salt, argon2), deadline: deadline)
        }
    }

    private func insertKey(
        secret: String, _ details: KeyDetails, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        let id = UUID().uuidString.lowercased()
        let pair = try KeyPair()
        let record = try await evaluation.makeRecord(
            id: id, createdAt: now(), details: details, secret: secret, pair: pair)
        try await commits.update(id, .add, deadline: deadline) { key, _ in
            // A store may add it a second time.
            guard key == nil || key?.record == record else {
                throw KeyServiceServerError(.storeUnusable, "Two keys have the same id.")
            }
            if key == nil { key = StoredKey(record: record) }
        }
        return try pair.response(keyID: id)
    }

    /// Evaluates one guess, after all earlier guesses on the same key.
    ///
    /// - Parameters:
    ///   - deadline: after this time nobody waits for the answer.
    ///   - permits: the limit of guesses under way, except stretched ones, which ``StretchingPool`` limits. A guess
    ///     that waits for another guess on its key takes no permit. So one key cannot keep the others out.
    /// - Throws: ``KeyServiceServerError`` with code `wrongSecret`, `keyLocked`, `noSuchKey` or `busy`, or
    ///   ``RequestPermits/Full``.
    package func releaseKey(
        keyID: String, for guess: Guess, deadline: ContinuousClock.Instant,
        permits: RequestPermits = RequestPermits(.max)
    ) async throws -> KeyResponse {
        try await holds.withHold(on: keyID, deadline: deadline) {
            switch guess {
            case .longSecret:
                try await permits.withPermit { try await evaluateUncharged(guess, keyID: keyID, deadline: deadline) }
            case .secret where guess.isStretched:
                // The permit comes before the charge: a client without a permit must not lose a guess.
                try await stretching.withPermit(isNewKey: false) {
                    try await chargeAndEvaluate(guess, keyID: keyID, deadline: deadline)
                }
            case .secret:
                try await permits.withPermit { try await chargeAndEvaluate(guess, keyID: keyID, deadline: deadline) }
            }
        }
    }

    /// Evaluates a long secret. Nobody can guess its 256 bits, and a count would only let others lock the key. Call it
    /// only while the key is held.
    private func evaluateUncharged(
        _ guess: Guess, keyID: String, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        let time = now()
        let (record, wrong) = try await commits.update(keyID, .read, deadline: deadline) { key, limits in
            let key = try Self.required(key)
            guard !key.isLocked(limits, now: time) else { throw KeyServiceServerError.keyLocked }
            return (key.record, key.wrongGuesses(now: time))
        }
        do {
            let pair = try await evaluation.open(record, with: guess)
            commits.updateSoon(keyID) { $0?.noteUse(at: time, forgetting: wrong.map(\.ticket)) }
            return try pair.response(keyID: keyID, after: wrong)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            throw KeyServiceServerError.wrongSecret(guessesRemaining: nil)
        }
    }

    /// Charges a guess, and then evaluates it. Call it only while the key is held.
    private func chargeAndEvaluate(
        _ guess: Guess, keyID: String, deadline: ContinuousClock.Instant
    ) async throws -> KeyResponse {
        let ticket = StoredKey.newTicket()
        // From here on the guess counts as wrong, even if this process dies.
        let charged = try await charge(keyID, ticket, deadline: deadline)
        FaultPoint.charged.strike()
        let pair: KeyPair
        do {
            pair = try await evaluation.open(charged.record, with: guess)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            commits.updateSoon(keyID) { _ = $0?.settle(ticket, .wrong) }
            throw KeyServiceServerError.wrongSecret(guessesRemaining: charged.remaining)
        } catch {
            // Out of memory or a damaged record: the client learned nothing about the secret.
            commits.updateSoon(keyID) { _ = $0?.settle(ticket, .unused) }
            throw error
        }
        FaultPoint.evaluated.strike()
        let time = now()
        var result = StoredKey.GuessResult.right(time: time, forgetting: charged.wrong.map(\.ticket))
        if case .secret(_, let renews) = guess, renews && !charged.wrong.isEmpty {
            // The count stays until the client has made a new key. Otherwise a thief could go on guessing at this one.
            result = .rightAndKept(time: time)
        }
        try await settle(keyID, ticket, result, isOnlyGuess: charged.isOnlyGuess && charged.remaining > 0)
        FaultPoint.settled.strike()
        return try pair.response(keyID: keyID, after: charged.wrong)
    }

    /// A key with the guess under way.
    private struct Charged: Sendable {
        let record: KeyRecord
        /// The wrong guesses before this one.
        let wrong: [StoredKey.Guess]
        /// The guesses that are left if this one is wrong.
        let remaining: Int
        let isOnlyGuess: Bool
    }

    /// Opens a guess. If no guess is left, it waits a little for one under way at another instance of the service,
    /// which may be right.
    private func charge(
        _ keyID: String, _ ticket: [UInt8], deadline: ContinuousClock.Instant
    ) async throws -> Charged {
        let end = min(deadline, .now + Self.timeout)
        while true {
            let time = now()
            let undo = { @Sendable (key: inout StoredKey?) in key?.settle(ticket, .unused) ?? false }
            do {
                return try await commits.update(keyID, deadline: deadline, undo: undo) { key, limits in
                    var known = try Self.required(key)
                    try known.charge(ticket, limits, now: time)
                    key = known
                    return Charged(
                        record: known.record, wrong: known.wrongGuesses(besides: ticket, now: time),
                        remaining: known.remaining(limits), isOnlyGuess: known.guesses.count == 1)
                }
            } catch StoredKey.GuessRefusal.underWay where .now < end {
                try await Task.sleep(for: .milliseconds(.random(in: 2...20)))
            } catch let refusal as StoredKey.GuessRefusal {
                throw refusal == .locked ? KeyServiceServerError.keyLocked : .busy
            }
        }
    }

    /// - Throws: `noSuchKey` for no key, or a key of version 2.
    private static func required(_ key: StoredKey?) throws -> StoredKey {
        guard let key, !key.isOPRF else { throw KeyServiceServerError.noSuchKey }
        return key
    }

    /// Settles a right guess. It runs before the hold ends, so it counts before the next guess. If other guesses are
    /// open, it is durable before the answer. Otherwise a crash could leave the key locked after a right guess.
    private func settle(
        _ keyID: String, _ ticket: [UInt8], _ result: StoredKey.GuessResult, isOnlyGuess: Bool
    ) async throws {
        let settling = { @Sendable (key: inout StoredKey?) in _ = key?.settle(ticket, result) }
        guard !isOnlyGuess else { return commits.updateSoon(keyID, settling) }
        do {
            try await commits.update(keyID, deadline: .now + GroupCommit.settlingTime) { key, _ in settling(&key) }
        } catch {
            commits.updateSoon(keyID, settling)
            throw error
        }
    }
}

extension KeyPair {
    /// Returns the answer that gives out this pair.
    fileprivate func response(keyID: String, after wrong: [StoredKey.Guess] = []) throws -> KeyResponse {
        var answer = KeyResponse(keyid: keyID, key: keyText(), longsecret: try longSecretText())
        if let last = wrong.last {
            answer.wrongGuesses = wrong.count
            answer.lastWrongGuessAt = last.openedAt
        }
        return answer
    }
}
