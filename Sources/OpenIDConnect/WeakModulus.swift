/// RSA keys whose private half anybody can compute (CVE-2017-15361, "ROCA").
///
/// The library that made them took primes that are powers of 65537 modulo every small prime. So is their product, which
/// a sound modulus is by chance once in hundreds of millions.
enum WeakModulus {
    private static let primes = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
        113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ]

    /// Whether a modulus, given by its bytes from the highest, bears that mark.
    static func isWeak(_ modulus: some Sequence<UInt8>) -> Bool {
        primes.allSatisfy { prime in
            let remainder = modulus.reduce(0) { ($0 << 8 | Int($1)) % prime }
            var power = 1
            repeat {
                if power == remainder { return true }
                power = power * 65537 % prime
            } while power != 1
            return false
        }
    }
}
