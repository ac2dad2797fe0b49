import Testing

@testable import VaultCrypto

/// The check that the ciphers are the ones that their names promise.
@Suite struct CipherVectorTests {
    private func open(
        _ algorithm: SealedEnvelope.Algorithm, key: [UInt8], nonce: [UInt8], data: [UInt8], sealed: [UInt8]
    ) throws -> [UInt8]? {
        var text = [UInt8](repeating: 0, count: sealed.count - 16)
        let status = try text.withUnsafeMutableBytes { text in
            try nonce.withUnsafeBytes { nonce in
                try sealed.withUnsafeBytes { sealed in
                    try SecretBytes(copying: key).withUnsafeBytes {
                        SealedEnvelope.decrypt(
                            algorithm, into: text, ciphertext: sealed, data: data, nonce: nonce, key: $0)
                    }
                }
            }
        }
        return status == 0 ? text : nil
    }

    private func seal(
        _ algorithm: SealedEnvelope.Algorithm, key: [UInt8], nonce: [UInt8], data: [UInt8], text: [UInt8]
    ) throws -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: text.count + 16)
        let status = try sealed.withUnsafeMutableBufferPointer { sealed in
            try text.withUnsafeBytes { text in
                try SecretBytes(copying: key).withUnsafeBytes {
                    SealedEnvelope.encrypt(
                        algorithm, into: sealed.baseAddress!, plaintext: text, data: data, nonce: nonce, key: $0)
                }
            }
        }
        #expect(status == 0)
        return sealed
    }

    /// Test case 16 of McGrew and Viega's GCM specification, on which NIST SP 800-38D rests.
    @Test(.enabled(if: SealedEnvelope.hasHardwareAES, "This processor has no AES instructions."))
    func `when algorithm 1 seals, then AES-256-GCM values result`() throws {
        let key = hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let nonce = hex("cafebabefacedbaddecaf888")
        let data = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let text = hex(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
        let sealed = hex(
            """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            76fc6ece0f4e1768cddf8853bb2d551b
            """)
        #expect(try seal(.aes256GCM, key: key, nonce: nonce, data: data, text: text) == sealed)
        #expect(try open(.aes256GCM, key: key, nonce: nonce, data: data, sealed: sealed) == text)
    }

    @Test(.enabled(if: SealedEnvelope.hasHardwareAES, "This processor has no AES instructions."))
    func `when algorithm 1 runs Wycheproof's cases, then the results agree`() throws {
        for test in try Wycheproof.cases("aes_256_gcm_iv96_test.json", count: 66) {
            let (key, nonce, data) = try (test.bytes("key"), test.bytes("iv"), test.bytes("aad"))
            let text = try test.bytes("msg")
            let sealed = try test.bytes("ct") + test.bytes("tag")
            let opened = try open(.aes256GCM, key: key, nonce: nonce, data: data, sealed: sealed)
            #expect(opened == (test.isValid ? text : nil), "case \(test.id)")
            if test.isValid {
                #expect(try seal(.aes256GCM, key: key, nonce: nonce, data: data, text: text) == sealed)
            }
        }
    }

    /// draft-irtf-cfrg-xchacha-03 appendix A.3.1.
    @Test func `when algorithm 2 seals, then XChaCha20-Poly1305 values result`() throws {
        let key = [UInt8](0x80...0x9f)
        let nonce = [UInt8](0x40...0x57)
        let data = hex("50515253c0c1c2c3c4c5c6c7")
        let text = Array(
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
                .utf8)
        let sealed = try seal(.xchacha20Poly1305, key: key, nonce: nonce, data: data, text: text)
        #expect(sealed.prefix(16) == hex("bd6d179d3e83d43b9576579493c0e939")[...])
        #expect(sealed.suffix(16) == hex("c0875924c1c7987947deafd8780acf49")[...])
        #expect(try open(.xchacha20Poly1305, key: key, nonce: nonce, data: data, sealed: sealed) == text)
    }
}
