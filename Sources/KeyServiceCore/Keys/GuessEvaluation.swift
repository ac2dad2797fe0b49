internal import VaultCrypto

/// The maker and opener of records. The rules about guesses are in `StoredKey+Guesses.swift`.
struct GuessEvaluation: Sendable {
    let masterKeys: MasterKeys
    let stretching: StretchingPool

    /// Seals a new pair under both of its secrets. If the secret is stretched, call it only inside
    /// ``StretchingPool/withPermit(isNewKey:_:)``.
    func makeRecord(
        id: String, createdAt: Int64, details: KeyDetails, secret: String, pair: KeyPair
    ) async throws -> KeyRecord {
        let salt = details.salt
        let secretKey: SecretBytes =
            switch details {
            case .strong: try KeyWrapping.key(strongSecret: secret, salt: salt)
            case .stretched(_, let cost):
                try await stretch(secret, salt: salt, cost, isNewKey: true).take()
            case .oprf: throw KeyServiceServerError(.invalidRequest, "The key is of another version.")
            }
        let longSecretKey = try KeyWrapping.key(longSecret: pair.longSecretText(), salt: salt)
        let content = RecordContent(
            bySecret: try pair.sealed(
                under: secretKey, context: KeyWrapping.contextForSecret(keyID: id)),
            byLongSecret: try pair.sealed(
                under: longSecretKey, context: KeyWrapping.contextForLongSecret(keyID: id)))
        let masterKey = masterKeys.current
        return KeyRecord(
            id: id, createdAt: createdAt, details: details, masterKeyID: masterKey.id,
            content: try content.sealed(keyID: id, masterKey))
    }

    /// Opens a record with the secret of a request.
    ///
    /// - Throws: `VaultCryptoError` with code `wrongKey` if the guess is wrong. No other error means that.
    func open(_ record: KeyRecord, with guess: KeyKeeper.Guess) async throws -> KeyPair {
        let content = try RecordContent(of: record, masterKeys)
        let salt = record.details.salt
        let secretContext = KeyWrapping.contextForSecret(keyID: record.id)
        switch (guess, record.details) {
        case (.longSecret(let longSecret), _):
            let key = try KeyWrapping.key(longSecret: longSecret, salt: salt)
            return try KeyPair(
                opening: content.byLongSecret, key: key,
                context: KeyWrapping.contextForLongSecret(keyID: record.id))
        case (.secret(let secret, _), .strong) where KeyWrapping.isStrong(secret):
            let key = try KeyWrapping.key(strongSecret: secret, salt: salt)
            return try KeyPair(opening: content.bySecret, key: key, context: secretContext)
        case (.secret(let secret, _), .stretched(_, let cost)) where !KeyWrapping.isStrong(secret):
            let key = try await stretch(secret, salt: salt, cost, isNewKey: false).take()
            return try KeyPair(opening: content.bySecret, key: key, context: secretContext)
        default:
            // The secret has the other form, so the key was not made with it.
            throw VaultCryptoError(.wrongKey)
        }
    }

    private func stretch(
        _ secret: String, salt: [UInt8], _ cost: Argon2Parameters, isNewKey: Bool
    ) async throws -> SecretBox {
        try await stretching.run(isNewKey: isNewKey) {
            try SecretBox(
                KeyWrapping.key(stretching: secret, salt: salt, parameters: cost))
        }
    }
}

extension KeyDetails {
    fileprivate var salt: [UInt8] {
        switch self {
        case .strong(let salt), .stretched(let salt, _): salt
        // No store gives such a key to a call of version 1.
        case .oprf: []
        }
    }
}
