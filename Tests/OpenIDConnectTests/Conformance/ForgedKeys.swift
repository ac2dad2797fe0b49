import Crypto
import Foundation
import VaultBase

extension TestKey {
    /// A shared secret that a forger makes from public data.
    static func hs256(keyedWith secret: [UInt8]) -> TestKey {
        let key = SymmetricKey(data: secret)
        return TestKey(algorithm: "HS256", jwk: ["kty": "oct", "kid": "k1", "k": Base64URL.encode(secret)]) {
            Array(HMAC<SHA256>.authenticationCode(for: $0, using: key))
        }
    }

    /// This key, with every signature altered by `change`.
    func signing(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> TestKey {
        TestKey(algorithm: algorithm, jwk: jwk) { [sign] in change(try sign($0)) }
    }

    /// This key under another name, in its published form and in the tokens that it signs.
    func named(_ keyID: String?) -> TestKey {
        var key = self
        key.jwk["kid"] = keyID
        return key
    }
}

/// The public RSA key of ``TestKey/rsa(_:)`` in the forms that a library may take for a shared secret.
enum PublicForms {
    static var modulus: [UInt8] { Base64URL.decode(RFC7515.rsaModulus) ?? [] }
    static var jwk: [UInt8] { Array((try? json(RFC7515.rsaKey))?.utf8 ?? "".utf8) }

    /// SubjectPublicKeyInfo (RFC 8017 appendix A.1.1, RFC 3279 section 2.3.1).
    static var der: [UInt8] {
        let key = sequence(integer(modulus) + integer([1, 0, 1]))
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        return sequence(algorithm + tagged(0x03, [0] + key))
    }

    static var pem: [UInt8] {
        let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return Array("-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n".utf8)
    }

    private static func sequence(_ content: [UInt8]) -> [UInt8] { tagged(0x30, content) }
    private static func integer(_ bytes: [UInt8]) -> [UInt8] { tagged(0x02, (bytes[0] < 128 ? [] : [0]) + bytes) }
    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] = count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
        return [tag] + length + content
    }
}
