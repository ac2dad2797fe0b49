#if PKCS11
    internal import VaultBiometric
    internal import VaultCrypto

    /// The bytes of a ``ProtectedSecret``: what is needed to find the token and the key on it, and to open the secret.
    ///
    /// ```
    /// "CVPK11" ‖ version 1 ‖ manufacturer ‖ model ‖ serial number ‖ label ‖ slot ‖ CKA_ID ‖ fingerprint ‖ scheme ‖ message
    ///     ‖ envelope ‖ checksum (32 bytes)
    /// ```
    /// Each of the ten stands behind its length in two bytes, the greater first. All before the envelope goes into the
    /// key that it is sealed with, so nothing of it can be exchanged.
    struct SealedForm: Sendable {
        let token: TokenIdentity
        /// What the slot was called.
        let slotDescription: String
        let keyID: [UInt8]
        /// See ``PublicKey/fingerprint()``.
        let fingerprint: [UInt8]
        let scheme: KeyScheme
        /// From which the token finds out the key of the envelope.
        let message: [UInt8]
        private var envelope: [UInt8] = []

        private static let start = Array("CVPK11".utf8) + [1]
        private static let checksumSize = 32
        private static let context = SealingContext(
            purpose: "credential-vault/v1/pkcs11", issuer: "", subject: "", id: "")

        static let damaged = BiometricError(
            .failed,
            "What was stored for the token is damaged, or a newer version wrote it. Sign in another way, then enrol the "
                + "token anew.")

        /// Seals a secret for a key on a token.
        init(sealing secret: borrowing SecretBytes, for key: TokenKey, on token: Token, by scheme: KeyScheme) throws {
            let shared = try key.publicKey.share(by: scheme)
            self.token = token.identity
            slotDescription = token.slotDescription
            keyID = key.id
            fingerprint = key.fingerprint
            self.scheme = scheme
            message = shared.message
            let sealingKey = try sealingKey(from: shared.secret)
            envelope = try SealedEnvelope.seal(secret, key: sealingKey, context: Self.context)
        }

        /// Opens what was sealed.
        ///
        /// - Parameter shared: what the token made of the message.
        func open(_ shared: SharedSecret) throws -> SecretBytes {
            do {
                return try SealedEnvelope.open(envelope, key: sealingKey(from: shared), context: Self.context)
            } catch let error as VaultCryptoError where error.code != .outOfMemory {
                throw BiometricError.notOpened
            }
        }

        private func sealingKey(from shared: SharedSecret) throws -> SecretBytes {
            try KeyDerivation.hkdf(shared.bytes, salt: header, info: "credential-vault/v1/pkcs11-sealing-key")
        }

        private var header: [UInt8] {
            let names = [token.manufacturer, token.model, token.serial, token.label, slotDescription]
            var bytes = Self.start
            for field in names.map({ Array($0.utf8) }) + [keyID, fingerprint, [scheme.rawValue], message] {
                Self.append(field, to: &bytes)
            }
            return bytes
        }

        var bytes: [UInt8] {
            var bytes = header
            Self.append(envelope, to: &bytes)
            return bytes + Checksum.of([bytes])
        }

        private static func append(_ field: [UInt8], to bytes: inout [UInt8]) {
            withUnsafeBytes(of: UInt16(truncatingIfNeeded: field.count).bigEndian) { bytes += $0 }
            bytes += field
        }

        /// - Throws: ``damaged``.
        init(_ bytes: [UInt8]) throws(BiometricError) {
            let end = bytes.count - Self.checksumSize
            guard bytes.starts(with: Self.start), end >= Self.start.count,
                Checksum.of([Array(bytes[..<end])]).elementsEqual(bytes[end...])
            else { throw Self.damaged }
            var rest = bytes[Self.start.count..<end]
            var names: [String] = []
            for _ in 1...5 {
                guard let name = String(validating: try Self.field(&rest), as: UTF8.self) else { throw Self.damaged }
                names.append(name)
            }
            token = TokenIdentity(manufacturer: names[0], model: names[1], serial: names[2], label: names[3])
            slotDescription = names[4]
            keyID = try Self.field(&rest)
            fingerprint = try Self.field(&rest)
            let number = try Self.field(&rest)
            message = try Self.field(&rest)
            envelope = try Self.field(&rest)
            guard rest.isEmpty, number.count == 1, let scheme = KeyScheme(rawValue: number[0]) else {
                throw Self.damaged
            }
            self.scheme = scheme
        }

        private static func field(_ rest: inout ArraySlice<UInt8>) throws(BiometricError) -> [UInt8] {
            guard rest.count >= 2 else { throw damaged }
            let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
            guard rest.count >= count else { throw damaged }
            defer { rest.removeFirst(count) }
            return Array(rest.prefix(count))
        }
    }
#endif
