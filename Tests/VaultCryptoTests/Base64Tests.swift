import Testing

@testable import VaultCrypto

@Suite struct Base64Tests {
    /// RFC 4648 section 10, and bytes whose digits differ between the two alphabets.
    @Test(arguments: [
        ("", "", ""), ("66", "Zg==", "Zg"), ("666f", "Zm8=", "Zm8"), ("666f6f", "Zm9v", "Zm9v"),
        ("666f6f626172", "Zm9vYmFy", "Zm9vYmFy"), ("fbefff", "++//", "--__"), ("00", "AA==", "AA"),
    ])
    func `when bytes are encoded, then RFC 4648 texts result`(bytes: String, standard: String, urlSafe: String) throws {
        for (variant, text) in [(SecretBase64.Variant.standard, standard), (.urlSafe, urlSafe)] {
            let encoded = try SecretBase64.encode(SecretBytes(copying: hex(bytes)), variant)
            #expect(encoded.utf8String() == text)
            #expect(try SecretBase64.decode(encoded, variant).reveal() == hex(bytes))
        }
    }

    @Test func `when any bytes are encoded, then decoding restores them`() throws {
        for count in 0...100 {
            let secret = try SecretBytes.random(count: count)
            for variant in [SecretBase64.Variant.standard, .urlSafe] {
                let back = try SecretBase64.decode(SecretBase64.encode(secret, variant), variant)
                #expect(back.reveal() == secret.reveal())
            }
        }
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "=", "====", "Zm9v=", "Zh==", "Zm9-", "Zm9_", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9v\0", "Ä",
    ])
    func `when standard base64 is malformed, then decoding fails`(text: String) async throws {
        #expect(await code { _ = try SecretBase64.decode(SecretBytes(utf8: text), .standard) } == .invalidInput)
    }

    @Test(arguments: ["Zg==", "Z", "Zm9vY", "Zh", "Zm9+", "Zm9/", "Zm9v.", "Zm9v\n"])
    func `when base64url is malformed, then decoding fails`(text: String) async throws {
        #expect(await code { _ = try SecretBase64.decode(SecretBytes(utf8: text), .urlSafe) } == .invalidInput)
    }
}
