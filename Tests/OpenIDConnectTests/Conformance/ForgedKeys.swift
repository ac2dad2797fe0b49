import Crypto

@testable import OpenIDConnect

extension TestKey {
    /// A shared secret, as forgers make one of what is public.
    static func hs256(keyedWith secret: [UInt8]) -> TestKey {
        let key = SymmetricKey(data: secret)
        return TestKey(algorithm: "HS256", jwk: ["kty": "oct", "kid": "k1", "k": Base64URL.encode(secret)]) {
            Array(HMAC<SHA256>.authenticationCode(for: $0, using: key))
        }
    }
}
