#if PKCS11
    internal import CPKCS11

    /// A private key on a token that can protect a secret.
    struct TokenKey {
        let handle: CK_OBJECT_HANDLE
        let id: [UInt8]
        let publicKey: PublicKey
        /// See ``PublicKey/fingerprint()``.
        let fingerprint: [UInt8]
        let wantsPIN: Bool

        /// The attributes about the public part.
        fileprivate static let publicAttributes = [
            CKA_KEY_TYPE, CKA_MODULUS, CKA_PUBLIC_EXPONENT, CKA_EC_PARAMS, CKA_EC_POINT,
        ]
        /// The attributes about the private part. Some tokens do not show its public attributes there.
        fileprivate static let attributes =
            publicAttributes + [CKA_ID, CKA_PRIVATE, CKA_DECRYPT, CKA_DERIVE, CKA_ALWAYS_AUTHENTICATE]
    }

    /// A usable public key.
    struct VisibleKey {
        let key: PublicKey
        let fingerprint: [UInt8]
    }

    extension TokenSession {
        /// Returns the private keys that can decrypt or agree on a key, and need a PIN. Keys that want the PIN once
        /// come first, then the order is by id.
        ///
        /// - Parameters:
        ///   - id: the CKA_ID; nil for any.
        ///   - label: the CKA_LABEL; nil for any.
        func keys(id: [UInt8]?, label: [UInt8]? = nil) throws -> [TokenKey] {
            // Tokens return keys in any order.
            let keys = try privateKeys(id: id, label: label).compactMap(key)
                .sorted { $0.id.lexicographicallyPrecedes($1.id) }
            return keys.filter { !$0.wantsPIN } + keys.filter(\.wantsPIN)
        }

        /// Returns the private keys of all kinds.
        func privateKeys(id: [UInt8]?, label: [UInt8]? = nil) throws -> [CK_OBJECT_HANDLE] {
            try objects(Self.template(CKO_PRIVATE_KEY, id, label))
        }

        /// Checks whether a private key wants the PIN for each use.
        func wantsPIN(_ key: CK_OBJECT_HANDLE) throws -> Bool {
            try attributes([CKA_ALWAYS_AUTHENTICATE], of: key)[CKA_ALWAYS_AUTHENTICATE]?.isTrue == true
        }

        private static func template(
            _ kind: CK_OBJECT_CLASS, _ id: [UInt8]?, _ label: [UInt8]? = nil
        ) -> [TokenAttribute] {
            var template = [TokenAttribute(CKA_CLASS, kind)]
            if let id { template.append(TokenAttribute(CKA_ID, id)) }
            if let label { template.append(TokenAttribute(CKA_LABEL, label)) }
            return template
        }

        private func key(_ handle: CK_OBJECT_HANDLE) throws -> TokenKey? {
            let values = try attributes(TokenKey.attributes, of: handle)
            let use = values[CKA_KEY_TYPE]?.number == CKK_RSA ? CKA_DECRYPT : CKA_DERIVE
            guard values[CKA_PRIVATE]?.isTrue == true, values[use]?.isTrue == true, let id = values[CKA_ID],
                let visible = try publicKey(values) ?? publicKeys(id: id).first
            else { return nil }
            return TokenKey(
                handle: handle, id: id, publicKey: visible.key, fingerprint: visible.fingerprint,
                wantsPIN: values[CKA_ALWAYS_AUTHENTICATE]?.isTrue == true)
        }

        /// Returns the visible public keys. Most tokens show them without a PIN.
        func publicKeys(id: [UInt8]?) throws -> [VisibleKey] {
            try objects(Self.template(CKO_PUBLIC_KEY, id)).compactMap {
                try publicKey(attributes(TokenKey.publicAttributes, of: $0))
            }
        }

        /// - Returns: nil for an unusable key, or if the object does not show it.
        private func publicKey(_ values: [CK_ATTRIBUTE_TYPE: [UInt8]]) -> VisibleKey? {
            let key: PublicKey
            switch values[CKA_KEY_TYPE]?.number {
            case CKK_RSA:
                guard let modulus = values[CKA_MODULUS], let exponent = values[CKA_PUBLIC_EXPONENT],
                    !modulus.isEmpty, !exponent.isEmpty
                else { return nil }
                key = .rsa(modulus: modulus, exponent: exponent)
            case CKK_EC:
                guard let curve = Curve.allCases.first(where: { $0.parameters == values[CKA_EC_PARAMS] }),
                    let point = values[CKA_EC_POINT].flatMap(curve.point)
                else { return nil }
                key = .elliptic(curve, point: point)
            default: return nil
            }
            return (try? key.fingerprint()).map { VisibleKey(key: key, fingerprint: $0) }
        }
    }
#endif
