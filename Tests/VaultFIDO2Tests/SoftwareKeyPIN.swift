#if FIDO2
    import Crypto
    import Foundation

    extension SoftwareKey {
        /// CTAP 2.1 section 6.5, "authenticatorClientPIN".
        func clientPIN(_ parameters: CBOR, _ state: inout State) throws -> CBOR {
            switch parameters[2]?.int {
            case 1: return .object([.int(3): .int(state.guessesLeft)])
            case 2:
                return .object([.int(1): .key(state.agreementKey.publicKey.rawRepresentation, algorithm: -25)])
            case 5 where !model.hasPermissions, 9 where model.hasPermissions:
                return try token(parameters, &state)
            default: throw KeyStatus.invalidCommand
            }
        }

        /// The commands that exchange a PIN for a token.
        private func token(_ parameters: CBOR, _ state: inout State) throws -> CBOR {
            guard let encrypted = parameters[6]?.bytes else { throw KeyStatus.missingParameter }
            let agreed = try pinProtocol(parameters[1], parameters[3], state)
            if model.hasPermissions, parameters[9]?.int ?? 0 == 0 || parameters[10]?.text == nil {
                throw KeyStatus.missingParameter
            }
            guard let pinHash = state.pinHash else { throw KeyStatus.pinNotSet }
            if state.guessesLeft == 0 { throw KeyStatus.pinBlocked }
            if state.wrongInARow == 3 { throw KeyStatus.pinAuthBlocked }
            // Counted before the check, so that pulling the plug gives no guess back.
            state.guessesLeft -= 1
            guard try agreed.decrypt(encrypted) == pinHash else {
                state.agreementKey = P256.KeyAgreement.PrivateKey()
                state.wrongInARow += 1
                if state.guessesLeft == 0 { throw KeyStatus.pinBlocked }
                throw state.wrongInARow == 3 ? KeyStatus.pinAuthBlocked : KeyStatus.pinInvalid
            }
            state.guessesLeft = 8
            state.wrongInARow = 0
            state.token = SymmetricKey(size: .bits256)
            return .object([.int(2): .bytes(try agreed.encrypt(state.token.withUnsafeBytes { Array($0) }))])
        }

        func pinProtocol(_ number: CBOR?, _ key: CBOR?, _ state: State) throws -> PINProtocol {
            guard let number = number?.int, model.protocols.contains(number), let key = key?.agreementKey,
                let agreed = PINProtocol(number, shared: try state.agreementKey.sharedSecretFromKeyAgreement(with: key))
            else { throw KeyStatus.missingParameter }
            return agreed
        }

        /// Whether the other end has a token, and so the PIN. The key refuses a wrong proof.
        func hasPIN(_ tag: CBOR?, _ number: CBOR?, over hash: [UInt8], _ state: State) throws -> Bool {
            guard let tag = tag?.bytes else { return false }
            guard let number = number?.int, PINProtocol.tag(state.token, hash, number) == tag else {
                throw KeyStatus.pinAuthInvalid
            }
            return true
        }
    }
#endif
