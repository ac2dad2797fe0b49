internal import Foundation
internal import KeyServiceAPI
internal import VaultCrypto

/// Makes keys, and hands them out against the right secret. All the rules of guessing are here.
struct KeyKeeper: Sendable {
    /// What somebody shows to get a key.
    enum Guess {
        case secret(String)
        case longSecret(String)
    }

    let masterKey: MasterKey
    let commits: GroupCommit
    let stretching: StretchingPool
    let argon2: Argon2Parameters
    let maxGuesses: Int
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    private let holds = KeyHolds()

    init(
        masterKey: MasterKey, commits: GroupCommit, stretching: StretchingPool, argon2: Argon2Parameters,
        maxGuesses: Int, now: @escaping @Sendable () -> Int64
    ) {
        self.masterKey = masterKey
        self.commits = commits
        self.stretching = stretching
        self.argon2 = argon2
        self.maxGuesses = maxGuesses
        self.now = now
    }

    /// A change that proves that the store can be written and belongs to the master key.
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

    /// Evaluates one guess, after every other on the same key that came before.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `wrongSecret`, `keyLocked`, `noSuchKey` or `busy`.
    func releaseKey(keyID: String, for guess: Guess) async throws -> KeyResponse {
        try await holds.withHold(on: keyID) {
            // A place for Argon2 comes first: whoever finds none must not lose a guess.
            if case .secret(let secret) = guess, !KeyWrapping.isStrong(secret) {
                return try await stretching.withPlace { try await chargeAndEvaluate(guess, keyID: keyID) }
            }
            return try await chargeAndEvaluate(guess, keyID: keyID)
        }
    }

    /// Only while the key is held.
    private func chargeAndEvaluate(_ guess: Guess, keyID: String) async throws -> KeyResponse {
        // From here on the guess counts as wrong, whatever happens to this process.
        let outcome = try await commits.commit(.charge(keyID: keyID, limit: maxGuesses))
        guard case .charged(let record, let wrongGuesses) = outcome else {
            if case .locked = outcome { throw KeyServiceServerError.keyLocked }
            throw KeyServiceServerError.noSuchKey
        }
        FaultPoint.charged.strike()
        do {
            let response = try await evaluate(guess, record: record)
            FaultPoint.evaluated.strike()
            // Handed in before the hold ends, so it counts before the next guess on this key does.
            commits.commitSoon(.succeed(keyID: keyID, time: now()))
            return response
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            throw KeyServiceServerError.wrongSecret(guessesRemaining: max(0, maxGuesses - wrongGuesses))
        } catch {
            // Out of memory, or a damaged record: nothing was learned about the secret.
            commits.commitSoon(.giveBack(keyID: keyID))
            throw error
        }
    }

    /// - Throws: `VaultCryptoError` with code `wrongKey` when the guess is wrong: nothing else tells.
    private func evaluate(_ guess: Guess, record: KeyRecord) async throws -> KeyResponse {
        switch (guess, record.secretKind) {
        case (.longSecret(let longSecret), _):
            let key = try KeyWrapping.key(longSecret: longSecret, salt: record.salt, masterKey: masterKey)
            return try open(
                record.wrappedByLongSecret, key: key, context: KeyWrapping.contextForLongSecret(keyID: record.id))
        case (.secret(let secret), .strong) where KeyWrapping.isStrong(secret):
            let key = try KeyWrapping.key(strongSecret: secret, salt: record.salt, masterKey: masterKey)
            return try open(record.wrappedBySecret, key: key, context: KeyWrapping.contextForSecret(keyID: record.id))
        case (.secret(let secret), .stretched(let parameters)) where !KeyWrapping.isStrong(secret):
            let key = try await stretch(secret, salt: record.salt, parameters: parameters).take()
            return try open(record.wrappedBySecret, key: key, context: KeyWrapping.contextForSecret(keyID: record.id))
        default:
            // A secret of the other form: it cannot be the one that the key was made with.
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
