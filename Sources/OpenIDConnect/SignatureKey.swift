internal import JWTKit
internal import VaultJSON

/// One public key of a provider (RFC 7517). Private members, if somebody published them, are left out.
struct SignatureKey: Sendable {
    let keyID: String?
    private let type: String
    private let use: String?
    private let algorithm: String?
    private let operations: [String]?
    private let members: [String: String]

    /// More keys than any provider publishes. Each may be tried for each token, and a key set of 1 MiB has 8,000.
    private static let maxCount = 100

    /// The keys of a set (RFC 7517 section 5), without those of no known type.
    static func keys(in set: [JSONValue]) -> [SignatureKey] {
        Array(set.lazy.compactMap(SignatureKey.init).prefix(maxCount))
    }

    /// Nil for what is no key of a known type.
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

    /// Whether the key may verify signatures of this algorithm, going by what it says about itself.
    func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        type == algorithm.keyType && (use == nil || use == "sig")
            && (self.algorithm == nil || self.algorithm == algorithm.rawValue)
            && (operations == nil || operations?.contains("verify") == true)
            && (algorithm.curve == nil || algorithm.curve?.name == members["crv"])
    }

    /// Whether `signature` is this key's signature over `input`. False for keys that are too weak or broken as well.
    func verifies(_ signature: [UInt8], over input: [UInt8], algorithm: SignatureAlgorithm) async -> Bool {
        guard fits(algorithm), let jwk = publicKey(for: algorithm) else { return false }
        do {
            let keys = JWTKeyCollection()
            try await keys.add(jwk: jwk)
            let verifier = try await keys.getKey(for: Self.identifier, alg: algorithm.rawValue)
            guard verifier.name == algorithm.rawValue else { return false }
            return try verifier.verify(signature, signs: input)
        } catch {
            return false
        }
    }

    // jwt-kit wants each key to have one.
    private static let identifier = JWKIdentifier(string: "candidate")

    private func publicKey(for algorithm: SignatureAlgorithm) -> JWK? {
        guard let alg = JWK.Algorithm(rawValue: algorithm.rawValue) else { return nil }
        if algorithm.keyType == "RSA" {
            guard let modulus = bytes("n"), let exponent = bytes("e"),
                Self.isSound(modulus: modulus, exponent: exponent)
            else { return nil }
            return .rsa(alg, identifier: Self.identifier, modulus: members["n"], exponent: members["e"])
        }
        guard let curve = algorithm.curve, bytes("x")?.count == curve.coordinateBytes else { return nil }
        if algorithm.keyType == "OKP" {
            return .octetKeyPair(alg, identifier: Self.identifier, x: members["x"], y: nil, curve: .ed25519)
        }
        guard bytes("y")?.count == curve.coordinateBytes, let name = ECDSACurve(rawValue: curve.name) else {
            return nil
        }
        return .ecdsa(alg, identifier: Self.identifier, x: members["x"], y: members["y"], curve: name)
    }

    private func bytes(_ name: String) -> [UInt8]? {
        members[name].flatMap { Base64URL.decode($0) }
    }

    /// 2048 to 16384 bits that are no broken generator's, and an odd exponent of at least 3 and at most 64 bits.
    private static func isSound(modulus: [UInt8], exponent: [UInt8]) -> Bool {
        let modulus = modulus.drop { $0 == 0 }
        let exponent = exponent.drop { $0 == 0 }
        guard let top = modulus.first, let lowest = exponent.last else { return false }
        let bits = modulus.count * 8 - top.leadingZeroBitCount
        return !WeakModulus.isIn(modulus) && (2048...16384).contains(bits) && exponent.count <= 8 && lowest & 1 == 1
            && (exponent.count > 1 || lowest >= 3)
    }
}
