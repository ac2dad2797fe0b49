#if FIDO2
    import Crypto
    import Foundation

    extension SoftwareKey {
        /// CTAP 2.1 section 6.1, "authenticatorMakeCredential".
        func makeCredential(_ parameters: CBOR, _ state: inout State) throws -> CBOR {
            guard let hash = parameters[1]?.bytes, let party = parameters[2]?[.text("id")]?.text,
                let user = parameters[3]?[.text("id")]?.bytes, (1...64).contains(user.count),
                let kinds = parameters[4]?.array
            else { throw KeyStatus.missingParameter }
            guard kinds.contains(where: { $0[.text("alg")]?.int == -7 }) else { throw KeyStatus.unsupportedAlgorithm }
            let isVerified = try hasPIN(parameters[8], parameters[9], over: hash, state)
            if !isVerified, state.pinHash != nil { throw KeyStatus.pinRequired }
            let hasSecret = parameters[6]?[.text("hmac-secret")]?.bool == true
            let key = P256.Signing.PrivateKey()
            let secret = SymmetricKey(size: .bits256)
            let id = Self.random(64)
            state.credentials[id] = Credential(
                key: key, party: party, secretWithPIN: secret,
                secretWithoutPIN: model.separatesSecrets ? SymmetricKey(size: .bits256) : secret, hasSecret: hasSecret)
            var data = [UInt8](repeating: 7, count: 16)
            withUnsafeBytes(of: UInt16(id.count).bigEndian) { data += $0 }
            data += id + CBOR.key(key.publicKey.rawRepresentation, algorithm: -7).encoded
            let answer = try signed(
                hash, party, data, flags: 0x40 | (isVerified ? 4 : 0),
                extensions: hasSecret ? [.text("hmac-secret"): .bool(true)] : [:], with: key, &state)
            return .object([
                .int(1): .text("packed"), .int(2): .bytes(answer.data),
                .int(3): .object([.text("alg"): .int(-7), .text("sig"): .bytes(answer.signature)]),
            ])
        }

        /// CTAP 2.1 section 6.2, "authenticatorGetAssertion".
        func getAssertion(_ parameters: CBOR, _ state: inout State) throws -> CBOR {
            guard let party = parameters[1]?.text, let hash = parameters[2]?.bytes else {
                throw KeyStatus.missingParameter
            }
            let isVerified = try hasPIN(parameters[6], parameters[7], over: hash, state)
            let isPresent = parameters[5]?[.text("up")]?.bool ?? true
            if model.demandsPIN, isPresent, !isVerified { throw KeyStatus.pinRequired }
            let ids = parameters[3]?.array?.compactMap { $0[.text("id")]?.bytes } ?? []
            guard let id = ids.first(where: { state.credentials[$0]?.party == party }),
                let credential = state.credentials[id]
            else { throw KeyStatus.noCredentials }
            var extensions: KeyValuePairs<CBOR, CBOR> = [:]
            if let asked = parameters[4]?[.text("hmac-secret")], credential.hasSecret {
                guard isPresent else { throw KeyStatus.unsupportedOption }
                extensions = [
                    .text("hmac-secret"): .bytes(try secret(asked, of: credential, isVerified: isVerified, state))
                ]
            }
            let answer = try signed(
                hash, party, [], flags: (isPresent ? 1 : 0) | (isVerified ? 4 : 0), extensions: extensions,
                with: credential.key, &state)
            return .object([
                .int(1): .object([.text("id"): .bytes(id), .text("type"): .text("public-key")]),
                .int(2): .bytes(answer.data), .int(3): .bytes(answer.signature),
            ])
        }

        /// Section 12.5, "HMAC Secret Extension".
        private func secret(
            _ asked: CBOR, of credential: Credential, isVerified: Bool, _ state: State
        ) throws -> [UInt8] {
            let agreed = try pinProtocol(asked[4] ?? .int(1), asked[1], state)
            guard let encrypted = asked[2]?.bytes, let tag = asked[3]?.bytes else { throw KeyStatus.missingParameter }
            guard agreed.verifies(tag, over: encrypted) else { throw KeyStatus.pinAuthInvalid }
            let salt = try agreed.decrypt(encrypted)
            guard salt.count == 32 else { throw KeyStatus.invalidLength }
            let key = isVerified ? credential.secretWithPIN : credential.secretWithoutPIN
            return try agreed.encrypt(Array(HMAC<SHA256>.authenticationCode(for: salt, using: key)))
        }

        /// Authenticator data (WebAuthn Level 2, section 6.1), and the signature over it.
        private func signed(
            _ hash: [UInt8], _ party: String, _ credentialData: [UInt8], flags: UInt8,
            extensions: KeyValuePairs<CBOR, CBOR>, with key: P256.Signing.PrivateKey, _ state: inout State
        ) throws -> (data: [UInt8], signature: [UInt8]) {
            state.signatures += 1
            let isMade: UInt8 = credentialData.isEmpty ? 0 : 1
            var data = Array(SHA256.hash(data: Data(party.utf8)))
            data.append(flags | isMade | (extensions.isEmpty ? 0 : 0x80))
            withUnsafeBytes(of: state.signatures.bigEndian) { data += $0 }
            data += credentialData
            if !extensions.isEmpty { data += CBOR.object(extensions).encoded }
            return (data, Array(try key.signature(for: data + hash).derRepresentation))
        }
    }
#endif
