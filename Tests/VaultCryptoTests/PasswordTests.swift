import Testing

@testable import VaultCrypto

@Suite struct PasswordTests {
    private func prepared(_ text: String) throws -> String? {
        try Password.opaqueString(SecretBytes(utf8: text)).utf8String()
    }

    /// RFC 8265 section 4.3, examples 12 to 16, and the rules of section 4.2.
    @Test(arguments: [
        ("correct horse battery staple", "correct horse battery staple"),
        ("Correct Horse Battery Staple", "Correct Horse Battery Staple"),
        ("\u{3C0}\u{DF}\u{E5}", "\u{3C0}\u{DF}\u{E5}"), ("Jack of \u{2666}s", "Jack of \u{2666}s"),
        ("foo\u{1680}bar", "foo bar"),
        // Spaces at the ends are part of a password.
        (" x ", " x "), ("\u{A0}x\u{3000}", " x "),
        // NFC, not NFKC: a full-width letter does not change.
        ("e\u{301}", "\u{E9}"), ("\u{212B}", "\u{C5}"), ("\u{1112}\u{1161}\u{11AB}", "\u{D55C}"),
        ("\u{FF21}\u{FB01}", "\u{FF21}\u{FB01}"), ("猫😀", "猫😀"),
    ])
    func `when a password is typed, then the OpaqueString profile applies`(typed: String, expected: String) throws {
        let result = try #require(try prepared(typed))
        #expect(Array(result.utf8) == Array(expected.utf8))
        // A prepared password does not change when it is prepared again.
        #expect(try prepared(result).map { Array($0.utf8) } == Array(expected.utf8))
    }

    @Test func `when keyboards compose differently, then the passwords are equal`() throws {
        let composed = try Password.opaqueString(SecretBytes(utf8: "Gr\u{FC}\u{DF}e caf\u{E9}"))
        let decomposed = try Password.opaqueString(SecretBytes(utf8: "Gru\u{308}\u{DF}e cafe\u{301}"))
        #expect(composed.reveal() == decomposed.reveal())
    }

    @Test(arguments: [
        "",  // example 17
        "my cat is a \u{9}by",  // example 18
        "a\0b", "\u{7F}", "a\nb", "a\u{85}b", "a\u{200B}b", "a\u{200D}b", "\u{FEFF}a", "a\u{AD}b", "\u{E000}",
        "\u{FFFE}", "\u{378}", "a\u{2028}b", "a\u{202E}b", "\u{1160}", "\u{1100}",
    ])
    func `when a password cannot be retyped, then it is refused`(typed: String) async throws {
        #expect(await code { _ = try prepared(typed) } == .invalidPassword)
    }

    @Test(arguments: ["ff", "c3", "c0af", "eda080", "f4908080", "6162ff6364"])
    func `when a password is not UTF-8, then it is refused`(bytes: String) async throws {
        let password = hex(bytes)
        #expect(await code { _ = try Password.opaqueString(SecretBytes(copying: password)) } == .invalidPassword)
    }
}
