internal import KeyServiceAPI
package import VaultCrypto

/// The derivations of protocol version 2. All other values of a keyslot are random or come from the service.
package enum OPRFDerivation {
    /// The size of ``stretched(hardware:id:)`` and of a typed secret after Argon2id, in bytes.
    package static let stretchedSize = 64

    /// The most tickets of one confirmation.
    package static let maxTickets = OPRFSize.maxTickets

    /// Derives the input of the function from the secret of hardware, as Argon2id does from a typed secret.
    package static func stretched(hardware secret: borrowing SecretBytes, id: String) throws -> SecretBytes {
        try KeyDerivation.hkdf(secret, info: label("hardware", id), count: stretchedSize)
    }

    /// Derives the key that authenticates requests.
    ///
    /// - Parameter secret: the device secret, for a password or PIN. Otherwise the stretched secret, so that nobody who
    ///   has only the disk can send a request.
    package static func requestKey(from secret: borrowing SecretBytes, id: String) throws -> SecretBytes {
        try KeyDerivation.hkdf(secret, info: label("request-key", id))
    }

    /// Derives the key pair that confirms guesses.
    ///
    /// - Parameter output: the result of the oblivious function.
    package static func confirmKey(_ output: borrowing SecretBytes, id: String) throws -> SigningKey {
        try SigningKey(seed: KeyDerivation.hkdf(output, info: label("confirm", id)))
    }

    package static func endKey(_ vaultKey: borrowing SecretBytes, id: String) throws -> SigningKey {
        try SigningKey(seed: KeyDerivation.hkdf(vaultKey, info: label("end", id)))
    }

    /// Derives the key that wraps the vault key.
    ///
    /// - Parameters:
    ///   - output: the result of the oblivious function.
    ///   - salt: for hardware, the hash of the data beside the wrapped key.
    package static func slotKey(
        _ output: borrowing SecretBytes, slotID: String, salt: [UInt8] = []
    ) throws -> SecretBytes {
        try KeyDerivation.hkdf(output, salt: salt, info: label("slot-key", slotID))
    }

    /// Returns the only ticket that the service can give to a guess.
    package static func ticket(_ id: String, _ blinded: RistrettoElement) -> [UInt8] {
        OPRFMessage.ticket(id: id, blinded: blinded.bytes)
    }

    private static func label(_ purpose: String, _ id: String) -> [UInt8] {
        OPRFMessage.bytes(purpose, Array(id.utf8))
    }
}

extension SigningKey {
    /// Signs a confirmation of guesses.
    package borrowing func confirmation(of id: String, tickets: [[UInt8]]) -> KeyConfirmation {
        KeyConfirmation(
            id: id, tickets: tickets, signature: sign(OPRFMessage.confirm(id: id, tickets: tickets)))
    }

    package borrowing func firstConfirmation(
        of id: String, ticket: [UInt8], endKey: borrowing SigningKey
    ) -> KeyConfirmation {
        KeyConfirmation(
            id: id, tickets: [ticket], signature: sign(OPRFMessage.confirm(id: id, tickets: [ticket])),
            installation: .init(
                confirmKey: publicKey,
                endSignature: endKey.sign(OPRFMessage.install(id: id, confirmKey: publicKey))))
    }

    package borrowing func end(of id: String) -> [UInt8] { sign(OPRFMessage.end(id: id)) }

    package borrowing func claim(of id: String, issuer: String, subject: String) -> [UInt8] {
        sign(OPRFMessage.claim(id: id, issuer: issuer, subject: subject))
    }
}

// The checks of the service, for a service in memory.
extension KeyConfirmation {
    /// Whether the signature over the tickets belongs to a confirm key.
    package func isSigned(by confirmKey: [UInt8]) -> Bool {
        Signature.isValid(signature, of: OPRFMessage.confirm(id: id, tickets: tickets), by: confirmKey)
    }

    package func isInstalled(by endKey: [UInt8]) -> Bool {
        guard let installation else { return false }
        return Signature.isValid(
            installation.endSignature, of: OPRFMessage.install(id: id, confirmKey: installation.confirmKey),
            by: endKey)
    }
}

extension OPRFDerivation {
    package static func ends(_ id: String, _ signature: [UInt8], by endKey: [UInt8]) -> Bool {
        Signature.isValid(signature, of: OPRFMessage.end(id: id), by: endKey)
    }

    /// Whether a signature puts a key on the list of an owner.
    package static func claims(
        _ id: String, _ signature: [UInt8], issuer: String, subject: String, by endKey: [UInt8]
    ) -> Bool {
        Signature.isValid(
            signature, of: OPRFMessage.claim(id: id, issuer: issuer, subject: subject), by: endKey)
    }
}
