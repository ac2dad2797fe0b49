import Testing

@testable import VaultCrypto

@Suite struct Base64Tests {
    /// RFC 4648 section 10, and bytes whose digits differ between the two alphabets.
    @Test(arguments: [
        ("", "", ""), ("66", "Zg==", "Zg"), ("666f", "Zm8=", "Zm8"), ("666f6f", "Zm9v", "Zm9v"),
        ("666f6f626172", "Zm9vYmFy", "Zm9vYmFy"), ("fbefff", "++//", "--__"), ("00", "AA==", "AA"),
    ])
    func `it is RFC 4648's, both ways`(bytes: String, standard: String, urlSafe: String) throws {
        for (variant, text) in [(SecretBase64.Variant.standard, standard), (.urlSafe, urlSafe)] {
            let encoded = try SecretBase64.encode(SecretBytes(copying: hex(bytes)), variant)
            #expect(encoded.utf8String() == text)
            #expect(try SecretBase64.decode(encoded, variant).reveal() == hex(bytes))
        }
    }

    @Test func `every length makes the round trip`() throws {
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
    func `what is not padded base64 of the standard alphabet is refused`(text: String) async throws {
        #expect(await code { _ = try SecretBase64.decode(SecretBytes(utf8: text), .standard) } == .invalidInput)
    }

    @Test(arguments: ["Zg==", "Z", "Zm9vY", "Zh", "Zm9+", "Zm9/", "Zm9v.", "Zm9v\n"])
    func `what is not unpadded base64url is refused`(text: String) async throws {
        #expect(await code { _ = try SecretBase64.decode(SecretBytes(utf8: text), .urlSafe) } == .invalidInput)
    }
}
