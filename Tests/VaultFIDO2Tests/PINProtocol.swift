#if FIDO2
    import Crypto
    import CryptoExtras
    import Foundation

    /// The key's side of the protocols that hide PINs and secrets from listeners on the bus (CTAP 2.1 section 6.5.6,
    /// "PIN/UV Auth Protocol One", and 6.5.7, "Two").
    struct PINProtocol {
        let number: Int
        private let hmacKey: SymmetricKey
        private let aesKey: SymmetricKey

        /// - Parameter shared: the x of the point that both ends compute.
        init?(_ number: Int, shared: SharedSecret) {
            self.number = number
            switch number {
            case 1:
                let digest = shared.withUnsafeBytes { SHA256.hash(data: $0) }
                (hmacKey, aesKey) = (SymmetricKey(data: digest), SymmetricKey(data: digest))
            case 2:
                func derived(_ info: String) -> SymmetricKey {
                    shared.hkdfDerivedSymmetricKey(
                        using: SHA256.self, salt: Data(count: 32), sharedInfo: Data(info.utf8), outputByteCount: 32)
                }
                (hmacKey, aesKey) = (derived("CTAP2 HMAC key"), derived("CTAP2 AES key"))
            default: return nil
            }
        }

        func encrypt(_ plaintext: [UInt8]) throws -> [UInt8] {
            let vector = number == 1 ? [UInt8](repeating: 0, count: 16) : SoftwareKey.random(16)
            let sealed = try AES._CBC.encrypt(
                plaintext, using: aesKey, iv: AES._CBC.IV(ivBytes: vector), noPadding: true)
            return (number == 1 ? [] : vector) + sealed
        }

        func decrypt(_ ciphertext: [UInt8]) throws -> [UInt8] {
            let start = number == 1 ? 0 : 16
            guard ciphertext.count > start else { throw KeyStatus.invalidLength }
            let vector = number == 1 ? [UInt8](repeating: 0, count: 16) : Array(ciphertext[..<16])
            return Array(
                try AES._CBC.decrypt(
                    ciphertext[start...], using: aesKey, iv: AES._CBC.IV(ivBytes: vector), noPadding: true))
        }

        /// Whether the other end knows the shared secret.
        func verifies(_ tag: [UInt8], over message: [UInt8]) -> Bool {
            Self.tag(hmacKey, message, number) == tag
        }

        /// The proof that the sender knows a key.
        static func tag(_ key: SymmetricKey, _ message: [UInt8], _ number: Int) -> [UInt8] {
            Array(Array(HMAC<SHA256>.authenticationCode(for: message, using: key)).prefix(number == 1 ? 16 : 32))
        }
    }

    extension CBOR {
        /// A public key as COSE has it, for agreeing on a secret (algorithm -25) or for signatures (-7).
        static func key(_ raw: Data, algorithm: Int) -> CBOR {
            .object([
                .int(1): .int(2), .int(3): .int(algorithm), .int(-1): .int(1), .int(-2): .bytes(Array(raw.prefix(32))),
                .int(-3): .bytes(Array(raw.suffix(32))),
            ])
        }

        /// The public key to agree with.
        var agreementKey: P256.KeyAgreement.PublicKey? {
            guard self[1]?.int == 2, self[3]?.int == -25, self[-1]?.int == 1, let x = self[-2]?.bytes,
                let y = self[-3]?.bytes
            else { return nil }
            return try? P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
        }
    }
#endif
