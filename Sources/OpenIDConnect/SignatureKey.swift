internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials
internal import VaultBase

/// A public key of a provider (RFC 7517). Private members are left out, if a provider published them.
struct SignatureKey: Sendable {
    let keyID: String?
    private let type: String
    private let use: String?
    private let algorithm: String?
    private let operations: [String]?
    private let members: [String: String]

    /// The most keys of a set. A key set of 1 MiB has 8,000 keys, and each may be tried for each token.
    private static let maxCount = 100

    /// Reads the keys of a set (RFC 7517 section 5), and leaves out those of unknown types.
    static func keys(in set: [JSONValue]) -> [SignatureKey] {
        Array(set.lazy.compactMap(SignatureKey.init).prefix(maxCount))
    }

    /// Reads a key. Nil for unknown types.
    init?(_ json: JSONValue) {
        guard let type = json["kty"]?.string else { return nil }
        let names: [String]
        switch type {
        case "RSA": names = ["n", "e"]
        case "EC": names = ["crv", "x", "y"]
        case "OKP": names = ["crv", "x"]
        default: return nil
        }
        var members: [String: String] = [:]
        for name in names {
            guard let value = json[name]?.string else { return nil }
            members[name] = value
        }
        if let keyID = json["kid"], keyID.string == nil { return nil }
        self.type = type
        self.members = members
        keyID = json["kid"]?.string
        use = json["use"]?.string
        algorithm = json["alg"]?.string
        operations = json["key_ops"]?.strings
    }

    /// Whether the key may verify signatures of this algorithm, according to its members.
    func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        type == algorithm.keyType && (use == nil || use == "sig")
            && (self.algorithm == nil || self.algorithm == algorithm.rawValue)
            && (operations == nil || operations?.contains("verify") == true)
            && (algorithm.curve == nil || algorithm.curve?.name == members["crv"])
    }

    /// Whether `signature` is this key's signature over `input`. Also false for a weak or broken key.
    func verifies(_ signature: [UInt8], over input: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard fits(algorithm) else { return false }
        do {
            return switch algorithm {
            case .rs256: try isRSA(signature, of: SHA256.hash(data: input), padding: .insecurePKCS1v1_5)
            case .rs384: try isRSA(signature, of: SHA384.hash(data: input), padding: .insecurePKCS1v1_5)
            case .rs512: try isRSA(signature, of: SHA512.hash(data: input), padding: .insecurePKCS1v1_5)
            case .ps256: try isRSA(signature, of: SHA256.hash(data: input), padding: .PSS)
            case .ps384: try isRSA(signature, of: SHA384.hash(data: input), padding: .PSS)
            case .ps512: try isRSA(signature, of: SHA512.hash(data: input), padding: .PSS)
            case .es256:
                try P256.Signing.PublicKey(rawRepresentation: point(of: algorithm))
                    .isValidSignature(.init(rawRepresentation: signature), for: SHA256.hash(data: input))
            case .es384:
                try P384.Signing.PublicKey(rawRepresentation: point(of: algorithm))
                    .isValidSignature(.init(rawRepresentation: signature), for: SHA384.hash(data: input))
            case .es512:
                try P521.Signing.PublicKey(rawRepresentation: point(of: algorithm))
                    .isValidSignature(.init(rawRepresentation: signature), for: SHA512.hash(data: input))
            case .eddsa:
                try Curve25519.Signing.PublicKey(rawRepresentation: bytes("x") ?? [])
                    .isValidSignature(signature, for: input)
            }
        } catch {
            return false
        }
    }

    /// The error for a missing member, a member of the wrong length, or a weak key.
    private struct Unusable: Error {}

    private func isRSA(
        _ signature: [UInt8], of digest: some Digest, padding: _RSA.Signing.Padding
    ) throws -> Bool {
        guard let modulus = bytes("n"), let exponent = bytes("e"), Self.isSound(modulus: modulus, exponent: exponent)
        else { throw Unusable() }
        return try _RSA.Signing.PublicKey(n: modulus, e: exponent)
            .isValidSignature(.init(rawRepresentation: signature), for: digest, padding: padding)
    }

    /// Returns both coordinates of a point. The library checks that the point is on the curve.
    private func point(of algorithm: SignatureAlgorithm) throws -> [UInt8] {
        try coordinate("x", of: algorithm) + coordinate("y", of: algorithm)
    }

    /// Returns a coordinate in its full length. RFC 7518 section 6.2.1.2 demands the zeros in front, but Glewlwyd leaves
    /// them out (one of 128 keys has some), and others write one more. The number is the same.
    private func coordinate(_ name: String, of algorithm: SignatureAlgorithm) throws -> [UInt8] {
        guard let value = bytes(name)?.drop(while: { $0 == 0 }), let length = algorithm.curve?.coordinateBytes,
            value.count <= length
        else { throw Unusable() }
        return Array(repeating: 0, count: length - value.count) + value
    }

    private func bytes(_ name: String) -> [UInt8]? {
        members[name].flatMap { Base64URL.decode($0) }
    }

    /// Whether the modulus has 2048 to 16384 bits and is not from a broken generator, and the exponent is odd, at least
    /// 3, and at most 64 bits long.
    private static func isSound(modulus: [UInt8], exponent: [UInt8]) -> Bool {
        let modulus = modulus.drop { $0 == 0 }
        let exponent = exponent.drop { $0 == 0 }
        guard let top = modulus.first, let lowest = exponent.last else { return false }
        let bits = modulus.count * 8 - top.leadingZeroBitCount
        return !WeakModulus.isIn(modulus) && (2048...16384).contains(bits) && exponent.count <= 8 && lowest & 1 == 1
            && (exponent.count > 1 || lowest >= 3)
    }
}
