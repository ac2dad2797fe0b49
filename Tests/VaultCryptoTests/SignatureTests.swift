import Foundation
import Testing
import VaultBase

@testable import VaultCrypto

@Suite struct SignatureTests {
    /// RFC 8032 section 7.1, tests 1 and 2.
    @Test(
        arguments: [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ])
    func `when Ed25519 signs, then RFC 8032 values result`(
        seed: String, publicKey: String, message: String, signature: String
    ) throws {
        let key = try SigningKey(seed: SecretBytes(copying: hex(seed)))
        #expect(key.publicKey == hex(publicKey))
        #expect(key.sign(hex(message)) == hex(signature))
        #expect(Signature.isValid(hex(signature), of: hex(message), by: hex(publicKey)))
        #expect(Signature.isPublicKey(hex(publicKey)))
    }

    @Test func `when any signature bit changes, then verification fails`() throws {
        let key = try SigningKey(seed: SecretBytes.random(count: 32))
        let (message, signature) = ([UInt8]("message".utf8), key.sign([UInt8]("message".utf8)))
        for bit in 0..<512 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!Signature.isValid(changed, of: message, by: key.publicKey), "bit \(bit)")
        }
        #expect(!Signature.isValid(signature, of: message + [0], by: key.publicKey))
        #expect(!Signature.isValid(Array(signature.dropLast()), of: message, by: key.publicKey))
    }

    /// Points of small order: anybody could sign for them.
    @Test(
        arguments: [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        ])
    func `when a public key has small order, then verification fails`(key: String) {
        #expect(!Signature.isPublicKey(hex(key)))
        #expect(!Signature.isValid(hex(key) + [UInt8](repeating: 0, count: 32), of: [1], by: hex(key)))
    }

    /// RFC 4231 test case 1 has a key of 20 bytes, so its published code does not fit. This one is from another program.
    @Test func `when a request code is made, then truncated HMAC-SHA-512 results`() throws {
        let key = try SecretBytes(copying: [UInt8](repeating: 0x6b, count: 32))
        let code = try RequestMAC.code(of: [UInt8]("m".utf8), key: key)
        #expect(
            Data(code).map { String(format: "%02x", $0) }.joined()
                == "c256aa70260c99f51b96a5fce18dd763ca815a60c3093cc62cd53bc0a0e4c43c")
        #expect(try RequestMAC.isValid(code, of: [UInt8]("m".utf8), key: key))
        #expect(try !RequestMAC.isValid(code, of: [UInt8]("n".utf8), key: key))
        #expect(try !RequestMAC.isValid(Array(code.dropLast()), of: [UInt8]("m".utf8), key: key))
    }

    @Test(arguments: ["", "AA", "AQID", "_-8", "AAAAAAAAAAAAAAAAAAAAAA"])
    func `when base64url is decoded, then encoding returns the text`(text: String) throws {
        #expect(Base64URL.encode(try #require(Base64URL.decode(text))) == text)
    }

    @Test(arguments: [
        "A", "AB", "AA==", "AQID ", "+/8", "AQ\n", "é", "AAAAAAAAAAAAAAAAAAAAAB",
        "uqF-pIx\u{2E9}hu0BuYOo_hDO6TRxm8kLgNrMFFFYFeXskk",
    ])
    func `when a text is not base64url, then decoding fails`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
