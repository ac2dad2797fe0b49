#if PKCS11
    internal import Crypto
    internal import CryptoExtras
    internal import Foundation
    internal import VaultCrypto

    /// The public part of a key on a token. Its functions need no token.
    enum PublicKey: Sendable {
        /// Both numbers are big-endian.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// The uncompressed point, X9.62: 4, x, y.
        case elliptic(Curve, point: [UInt8])

        /// The ways to use the key, the better one first. Some tokens' OAEP lacks SHA-256, which only a test shows.
        var schemes: [KeyScheme] {
            switch self {
            case .rsa: [.oaepSHA256, .oaepSHA1]
            case .elliptic(let curve, _): [curve.scheme]
            }
        }

        /// Returns SHA-256 of the SubjectPublicKeyInfo (RFC 5280 section 4.1).
        ///
        /// - Throws: if the key is not valid, or RSA of less than 2048 bits.
        func fingerprint() throws -> [UInt8] {
            let encoded: Data =
                switch self {
                case .rsa(let modulus, let exponent):
                    try _RSA.Encryption.PublicKey(n: modulus, e: exponent).derRepresentation
                case .elliptic(.p256, let point):
                    try P256.KeyAgreement.PublicKey(x963Representation: point).derRepresentation
                case .elliptic(.p384, let point):
                    try P384.KeyAgreement.PublicKey(x963Representation: point).derRepresentation
                case .elliptic(.p521, let point):
                    try P521.KeyAgreement.PublicKey(x963Representation: point).derRepresentation
                }
            return Array(SHA256.hash(data: encoded))
        }

        /// Makes a secret that, outside this process, only the token can compute.
        func share(by scheme: KeyScheme) throws -> (secret: VaultCrypto.SharedSecret, message: [UInt8]) {
            switch self {
            case .rsa(let modulus, let exponent):
                let key = try _RSA.Encryption.PublicKey(n: modulus, e: exponent)
                let secret = VaultCrypto.SharedSecret(try .random(count: 32))
                let padding: _RSA.Encryption.Padding = scheme == .oaepSHA1 ? .PKCS1_OAEP : .PKCS1_OAEP_SHA256
                let message = try secret.bytes.withUnsafeBytes {
                    try key.encrypt($0.bindMemory(to: UInt8.self), padding: padding)
                }
                return (secret, Array(message))
            case .elliptic(.p256, let point):
                let own = P256.KeyAgreement.PrivateKey()
                let secret = try own.sharedSecretFromKeyAgreement(with: .init(x963Representation: point))
                return (try guarded(secret), Array(own.publicKey.x963Representation))
            case .elliptic(.p384, let point):
                let own = P384.KeyAgreement.PrivateKey()
                let secret = try own.sharedSecretFromKeyAgreement(with: .init(x963Representation: point))
                return (try guarded(secret), Array(own.publicKey.x963Representation))
            case .elliptic(.p521, let point):
                let own = P521.KeyAgreement.PrivateKey()
                let secret = try own.sharedSecretFromKeyAgreement(with: .init(x963Representation: point))
                return (try guarded(secret), Array(own.publicKey.x963Representation))
            }
        }

        private func guarded(_ secret: Crypto.SharedSecret) throws -> VaultCrypto.SharedSecret {
            try secret.withUnsafeBytes { VaultCrypto.SharedSecret(try SecretBytes(copying: $0)) }
        }
    }

    /// The ways in which a token computes a secret. The numbers are stored.
    enum KeyScheme: UInt8, Sendable {
        /// RSA-OAEP (RFC 8017 section 7.1), with this hash in both places.
        case oaepSHA256 = 1
        case oaepSHA1 = 2
        /// Diffie-Hellman on this curve with a one-time key.
        case p256 = 3
        case p384 = 4
        case p521 = 5
    }

    /// The curves of SEC 2 and FIPS 186-4 that tokens support.
    enum Curve: CaseIterable, Sendable {
        case p256, p384, p521

        /// The size of a coordinate in bytes.
        var size: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }

        /// The name of the curve in DER, for CKA_EC_PARAMS.
        var parameters: [UInt8] {
            switch self {
            case .p256: [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
            case .p384: [6, 5, 0x2B, 0x81, 4, 0, 0x22]
            case .p521: [6, 5, 0x2B, 0x81, 4, 0, 0x23]
            }
        }

        var scheme: KeyScheme {
            switch self {
            case .p256: .p256
            case .p384: .p384
            case .p521: .p521
            }
        }

        /// Reads CKA_EC_POINT: a point in an OCTET STRING, or from some tokens the plain point.
        func point(_ value: [UInt8]) -> [UInt8]? {
            let point = Array(value.suffix(1 + 2 * size))
            return [point, Self.octetString(point)].contains(value) ? point : nil
        }

        /// Makes an OCTET STRING in DER. The points are shorter than 256 bytes.
        static func octetString(_ bytes: [UInt8]) -> [UInt8] {
            [4] + (bytes.count < 128 ? [] : [0x81]) + [UInt8(truncatingIfNeeded: bytes.count)] + bytes
        }
    }
#endif
