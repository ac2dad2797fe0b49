#if PKCS11
    internal import CPKCS11
    internal import VaultCrypto

    /// The kind of key that is made on a token without a usable one.
    @nonexhaustive
    public enum PKCS11KeyKind: Sendable {
        /// A key on the curve P-256. It is fast, and most tokens can make it. The TPM's module cannot.
        case elliptic
        /// An RSA key of 2048 bits. Every token can make it, but some need a minute.
        case rsa
    }

    /// A new key pair.
    struct MadeKey {
        /// The CKA_ID of both parts.
        let id: [UInt8]
        let handles: [CK_OBJECT_HANDLE]
    }

    extension TokenSession {
        /// Makes a key pair whose private part never leaves the token. Other uses of the key are not forbidden: some
        /// tokens do not support that, and tpm2-pkcs11 then makes no key.
        func makeKey(_ kind: PKCS11KeyKind) throws -> MadeKey {
            let id = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
            let both = [
                TokenAttribute(CKA_TOKEN, true), TokenAttribute(CKA_ID, id),
                TokenAttribute(CKA_LABEL, Array("Credential Vault".utf8)),
            ]
            let secret = [
                TokenAttribute(CKA_PRIVATE, true), TokenAttribute(CKA_SENSITIVE, true),
                TokenAttribute(CKA_EXTRACTABLE, false),
            ]
            switch kind {
            case .elliptic:
                return try generate(
                    id, CKM_EC_KEY_PAIR_GEN,
                    both + [TokenAttribute(CKA_EC_PARAMS, Curve.p256.parameters)],
                    both + secret + [TokenAttribute(CKA_DERIVE, true)])
            case .rsa:
                return try generate(
                    id, CKM_RSA_PKCS_KEY_PAIR_GEN,
                    both + [
                        TokenAttribute(CKA_ENCRYPT, true), TokenAttribute(CKA_MODULUS_BITS, CK_ULONG(2048)),
                        TokenAttribute(CKA_PUBLIC_EXPONENT, [1, 0, 1]),
                    ],
                    both + secret + [TokenAttribute(CKA_DECRYPT, true)])
            }
        }

        func generate(
            _ id: [UInt8], _ type: CK_MECHANISM_TYPE, _ publicPart: [TokenAttribute], _ privatePart: [TokenAttribute]
        ) throws -> MadeKey {
            var mechanism = CK_MECHANISM(mechanism: type, pParameter: nil, ulParameterLen: 0)
            var (publicHandle, privateHandle): (CK_OBJECT_HANDLE, CK_OBJECT_HANDLE) = (0, 0)
            try publicPart.withTemplate { publicPart, publicCount in
                try privatePart.withTemplate { privatePart, privateCount in
                    try ask(.makingKey) {
                        $0.C_GenerateKeyPair?(
                            handle, &mechanism, publicPart, publicCount, privatePart, privateCount, &publicHandle,
                            &privateHandle)
                    }
                }
            }
            return MadeKey(id: id, handles: [privateHandle, publicHandle])
        }
    }
#endif
