internal import Foundation
internal import KeyServiceAPI
internal import VaultCrypto

/// The maker and keeper of keys, which gives them out for the right secret. All rules about guesses are here.
struct KeyKeeper: Sendable {
    /// The secret in a request for a key.
    enum Guess {
        /// - renews: the client makes a new key after wrong guesses.
        case secret(String, renews: Bool)
        case longSecret(String)
    }

    let masterKey: MasterKey
    let commits: GroupCommit
    let stretching: StretchingPool
    let argon2: Argon2Parameters
    let limits: GuessLimits
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    private let holds = KeyHolds()

    init(
        masterKey: MasterKey, commits: GroupCommit, stretching: StretchingPool, argon2: Argon2Parameters,
        limits: GuessLimits, now: @escaping @Sendable () -> Int64
    ) {
        self.masterKey = masterKey
        self.commits = commits
        self.stretching = stretching
        self.argon2 = argon2
        self.limits = limits
        self.now = now
    }

    /// Returns a change which proves that the store can be written and belongs to the master key.
    func checkIn() throws -> KeyRecordChange {
        .checkIn(masterKeyCheck: try masterKey.makeCheck(), time: now())
    }

    /// Makes a key for a secret. It is durable when this returns.
    func createKey(secret: String) async throws -> KeyResponse {
        let kind: KeyRecord.SecretKind = KeyWrapping.isStrong(secret) ? .strong : .stretched(argon2)
        let salt = (0..<KeyWrapping.saltSize).map { _ in UInt8.random(in: 0...255) }
        let id = UUID().uuidString.lowercased()
        let pair = try KeyPair()
        let longSecret = pair.longSecretText()
        let secretKey =
            switch kind {
            case .strong: try KeyWrapping.key(strongSecret: secret, salt: salt, masterKey: masterKey)
            case .stretched(let parameters):
                try await stretching.withPlace {
                    try await stretch(secret, salt: salt, parameters: parameters)
                }.take()
            }
        let longSecretKey = try KeyWrapping.key(longSecret: longSecret, salt: salt, masterKey: masterKey)
        let record = KeyRecord(
            id: id, createdAt: now(), secretKind: kind, salt: salt,
            wrappedBySecret: try pair.sealed(
                under: secretKey, context: KeyWrapping.contextForSecret(keyID: id)),
            wrappedByLongSecret: try pair.sealed(
                under: longSecretKey, context: KeyWrapping.contextForLongSecret(keyID: id)))
        _ = try await commits.commit(.insert(record))
        return KeyResponse(keyid: id, key: pair.keyText(), longsecret: longSecret)
    }

    /// Evaluates one guess, after all earlier guesses on the same key.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `wrongSecret`, `keyLocked`, `noSuchKey` or `busy`.
    func releaseKey(keyID: String, for guess: Guess) async throws -> KeyResponse {
        try await holds.withHold(on: keyID) {
            switch guess {
            case .longSecret: try await evaluateUncharged(guess, keyID: keyID)
            case .secret(let secret, let renews) where KeyWrapping.isStrong(secret):
                try await chargeAndEvaluate(guess, keyID: keyID, renews: renews)
            case .secret(_, let renews):
                // Argon2's place comes first: a client without a place must not lose a guess.
                try await stretching.withPlace { try await chargeAndEvaluate(guess, keyID: keyID, renews: renews) }
            }
        }
    }

    /// Evaluates a long secret. Nobody can guess its 256 bits, and a count would only let others lock the key. Call it
    /// only while the key is held.
    private func evaluateUncharged(_ guess: Guess, keyID: String) async throws -> KeyResponse {
        let (record, count) = try await found(.find(keyID: keyID, limits: limits))
        do {
            let response = try await evaluate(guess, record: record)
            commits.commitSoon(.succeed(keyID: keyID, wasCharged: false, time: now()))
            return response.telling(count)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            throw KeyServiceServerError.wrongSecret(guessesRemaining: nil)
        }
    }

    /// Only while the key is held.
    private func chargeAndEvaluate(_ guess: Guess, keyID: String, renews: Bool) async throws -> KeyResponse {
        // From here on the guess counts as wrong, even if this process dies.
        let (record, count) = try await found(.charge(keyID: keyID, limits: limits, time: now()))
        let charged = GuessCount(inARow: count.inARow + 1, inAll: count.inAll + 1)
        FaultPoint.charged.strike()
        let response: KeyResponse
        do {
            response = try await evaluate(guess, record: record)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            throw KeyServiceServerError.wrongSecret(guessesRemaining: limits.remaining(after: charged))
        } catch {
            // Out of memory or a damaged record: the client learned nothing about the secret.
            commits.commitSoon(.giveBack(keyID: keyID, lastWrongAt: count.lastWrongAt, usedAt: nil))
            throw error
        }
        FaultPoint.evaluated.strike()
        // The count stays until the client has made a new key. Otherwise a thief could go on guessing
        // at this one.
        let change: KeyRecordChange =
            renews && count.inARow > 0
            ? .giveBack(keyID: keyID, lastWrongAt: count.lastWrongAt, usedAt: now())
            : .succeed(keyID: keyID, wasCharged: true, time: now())
        try await settle(change, isOnlyCharge: count.inARow == 0 && limits.remaining(after: charged) > 0)
        FaultPoint.settled.strike()
        return response.telling(count)
    }

    /// Takes back the charge of a right guess. It runs before the hold ends, so it counts before the next guess. If
    /// other charges remain, it is durable before the answer. Otherwise a crash could leave the key locked after a
    /// right guess.
    private func settle(_ change: KeyRecordChange, isOnlyCharge: Bool) async throws {
        guard !isOnlyCharge else { return commits.commitSoon(change) }
        do {
            _ = try await commits.commit(change)
        } catch {
            commits.commitSoon(change)
            throw error
        }
    }

    private func found(_ change: KeyRecordChange) async throws -> (KeyRecord, GuessCount) {
        switch try await commits.commit(change) {
        case .found(let record, let count): return (record, count)
        case .locked: throw KeyServiceServerError.keyLocked
        default: throw KeyServiceServerError.noSuchKey
        }
    }

    /// - Throws: `VaultCryptoError` with code `wrongKey` if the guess is wrong. No other error means that.
    private func evaluate(_ guess: Guess, record: KeyRecord) async throws -> KeyResponse {
        switch (guess, record.secretKind) {
        case (.longSecret(let longSecret), _):
            let key = try KeyWrapping.key(longSecret: longSecret, salt: record.salt, masterKey: masterKey)
            return try open(
                record.wrappedByLongSecret, key: key, context: KeyWrapping.contextForLongSecret(keyID: record.id))
        case (.secret(let secret, _), .strong) where KeyWrapping.isStrong(secret):
            let key = try KeyWrapping.key(strongSecret: secret, salt: record.salt, masterKey: masterKey)
            return try open(record.wrappedBySecret, key: key, context: KeyWrapping.contextForSecret(keyID: record.id))
        case (.secret(let secret, _), .stretched(let parameters)) where !KeyWrapping.isStrong(secret):
            let key = try await stretch(secret, salt: record.salt, parameters: parameters).take()
            return try open(record.wrappedBySecret, key: key, context: KeyWrapping.contextForSecret(keyID: record.id))
        default:
            // The secret has the other form, so the key was not made with it.
            throw VaultCryptoError(.wrongKey)
        }
    }

    private func open(_ envelope: [UInt8], key: borrowing SecretBytes, context: SealingContext) throws -> KeyResponse {
        let pair = try KeyPair(opening: envelope, key: key, context: context)
        return KeyResponse(keyid: context.keyID, key: pair.keyText(), longsecret: pair.longSecretText())
    }

    private func stretch(_ secret: String, salt: [UInt8], parameters: Argon2Parameters) async throws -> SecretBox {
        try await stretching.run { [masterKey] in
            try SecretBox(
                KeyWrapping.key(stretching: secret, salt: salt, parameters: parameters, masterKey: masterKey))
        }
    }
}

extension KeyResponse {
    /// Returns the answer with the earlier wrong guesses.
    fileprivate func telling(_ count: GuessCount) -> KeyResponse {
        guard count.inARow > 0 else { return self }
        var answer = self
        answer.wrongGuesses = count.inARow
        answer.lastWrongGuessAt = count.lastWrongAt
        return answer
    }
}
