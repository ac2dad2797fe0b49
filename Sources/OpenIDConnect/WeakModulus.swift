/// Recognises RSA keys from a broken generator, whose factors can be found (ROCA, CVE-2017-15361).
enum WeakModulus {
    /// Modulo each of these, such primes are powers of 65537, and so is their product. About one in 2^27 other moduli
    /// looks like that by accident.
    private static let primes: [Int] = (3...167).filter { number in
        (2..<number).allSatisfy { number % $0 != 0 }
    }

    /// The powers of 65537 modulo each prime.
    private static let powers: [(prime: Int, powers: Set<Int>)] = primes.map { prime in
        var powers: Set<Int> = []
        var power = 1
        while powers.insert(power).inserted { power = power * 65537 % prime }
        return (prime, powers)
    }

    /// - Parameter modulus: the bytes of the modulus, highest first.
    static func isIn(_ modulus: some Sequence<UInt8>) -> Bool {
        powers.allSatisfy { prime, powers in
            powers.contains(modulus.reduce(0) { ($0 << 8 | Int($1)) % prime })
        }
    }
}
