#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric
    internal import VaultCrypto

    extension TokenSession {
        /// Lets the token compute the secret from ``PublicKey/share(by:)``.
        ///
        /// - Parameters:
        ///   - key: a private key of the scheme's kind.
        ///   - wantsPIN: whether the key wants the PIN each time.
        ///   - pin: the PIN for such a key; nil if it is entered at the token.
        /// - Throws: `BiometricError.notOpened` for every fault in the message.
        func secret(
            _ message: [UInt8], _ scheme: KeyScheme, with key: CK_OBJECT_HANDLE, wantsPIN: Bool, _ pin: SharedSecret?
        ) throws -> SharedSecret {
            switch scheme {
            case .oaepSHA256:
                try decrypt(message, .of(CKM_SHA256, CKG_MGF1_SHA256), key, wantsPIN: wantsPIN, pin)
            case .oaepSHA1:
                try decrypt(message, .of(CKM_SHA_1, CKG_MGF1_SHA1), key, wantsPIN: wantsPIN, pin)
            case .p256: try agree(message, .p256, key, pin)
            case .p384: try agree(message, .p384, key, pin)
            case .p521: try agree(message, .p521, key, pin)
            }
        }

        private func decrypt(
            _ message: [UInt8], _ parameters: CK_RSA_PKCS_OAEP_PARAMS, _ key: CK_OBJECT_HANDLE, wantsPIN: Bool,
            _ pin: SharedSecret?
        ) throws -> SharedSecret {
            var (message, parameters) = (message, parameters)
            try withMechanism(CKM_RSA_PKCS_OAEP, &parameters) { mechanism in
                try ask(.decrypting) { $0.C_DecryptInit?(handle, mechanism, key) }
            }
            if wantsPIN { try logIn(pin, as: CKU_CONTEXT_SPECIFIC) }
            var count = CK_ULONG(message.count)
            // The token may want room for the whole message, which has the size of the modulus. The 32 bytes of the
            // secret end up at its start.
            let room = try SecretBytes(count: message.count) { target in
                let start = target.assumingMemoryBound(to: UInt8.self).baseAddress
                do {
                    try ask(.decrypting) {
                        $0.C_Decrypt?(handle, &message, CK_ULONG(message.count), start, &count)
                    }
                } catch is TokenFailure {
                    throw BiometricError.notOpened
                }
            }
            guard count == 32 else { throw BiometricError.notOpened }
            return SharedSecret(
                try SecretBytes(count: 32) { target in
                    room.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<32])) }
                })
        }

        private func agree(
            _ point: [UInt8], _ curve: Curve, _ key: CK_OBJECT_HANDLE, _ pin: SharedSecret?
        ) throws -> SharedSecret {
            let derived = try deriveAnyhow(point, curve, key, pin)
            defer { destroy(derived) }
            return SharedSecret(
                try SecretBytes(count: curve.size) { target in
                    var value = CK_ATTRIBUTE(
                        type: CKA_VALUE, pValue: target.baseAddress, ulValueLen: CK_ULONG(target.count))
                    try ask(.deriving) { $0.C_GetAttributeValue?(handle, derived, &value, 1) }
                    guard value.ulValueLen == CK_ULONG(target.count) else { throw BiometricError.notOpened }
                })
        }

        /// Derives with the plain point, or with the point in an OCTET STRING, as some older modules want it. If the
        /// key wants the PIN each time, logs in before. A wrong PIN is not a failure to derive.
        private func deriveAnyhow(
            _ point: [UInt8], _ curve: Curve, _ key: CK_OBJECT_HANDLE, _ pin: SharedSecret?
        ) throws -> CK_OBJECT_HANDLE {
            do {
                return try derive(point, curve, key)
            } catch let failure as TokenFailure {
                do {
                    guard failure.code == CKR_USER_NOT_LOGGED_IN else {
                        return try derive(Curve.octetString(point), curve, key)
                    }
                    try logIn(pin, as: CKU_CONTEXT_SPECIFIC)
                    return try derive(point, curve, key)
                } catch let failure as TokenFailure where failure.call == .deriving || failure.isNoLoginForUse {
                    throw BiometricError.notOpened
                }
            }
        }

        /// Derives a key (PKCS #11 2.40 current mechanisms, section 2.3.9).
        private func derive(
            _ point: [UInt8], _ curve: Curve, _ key: CK_OBJECT_HANDLE
        ) throws -> CK_OBJECT_HANDLE {
            let template = [
                TokenAttribute(CKA_CLASS, CKO_SECRET_KEY), TokenAttribute(CKA_KEY_TYPE, CKK_GENERIC_SECRET),
                TokenAttribute(CKA_TOKEN, false), TokenAttribute(CKA_SENSITIVE, false),
                TokenAttribute(CKA_EXTRACTABLE, true), TokenAttribute(CKA_VALUE_LEN, CK_ULONG(curve.size)),
            ]
            var point = point
            var derived: CK_OBJECT_HANDLE = 0
            try point.withUnsafeMutableBufferPointer { point in
                var parameters = CK_ECDH1_DERIVE_PARAMS()
                parameters.kdf = CKD_NULL
                parameters.ulPublicDataLen = CK_ULONG(point.count)
                parameters.pPublicData = point.baseAddress
                try withMechanism(CKM_ECDH1_DERIVE, &parameters) { mechanism in
                    try template.withTemplate { template, count in
                        try ask(.deriving) {
                            $0.C_DeriveKey?(handle, mechanism, key, template, count, &derived)
                        }
                    }
                }
            }
            return derived
        }

        func withMechanism<Parameters, Answer>(
            _ type: CK_MECHANISM_TYPE, _ parameters: inout Parameters,
            _ body: (UnsafeMutablePointer<CK_MECHANISM>) throws -> Answer
        ) rethrows -> Answer {
            try withUnsafeMutableBytes(of: &parameters) { bytes in
                var mechanism = CK_MECHANISM(
                    mechanism: type, pParameter: bytes.baseAddress, ulParameterLen: CK_ULONG(bytes.count))
                return try withUnsafeMutablePointer(to: &mechanism) { try body($0) }
            }
        }
    }

    extension CK_RSA_PKCS_OAEP_PARAMS {
        /// Makes parameters with this hash and mask generation function, and no label.
        fileprivate static func of(_ hash: CK_MECHANISM_TYPE, _ mask: CK_RSA_PKCS_MGF_TYPE) -> Self {
            var parameters = CK_RSA_PKCS_OAEP_PARAMS()
            parameters.hashAlg = hash
            parameters.mgf = mask
            // CKZ_DATA_SPECIFIED: an optional label is in the parameters.
            parameters.source = 1
            return parameters
        }
    }
#endif
