import Testing
import VaultCrypto
import VaultUnlock

@Suite struct NewPasswordRuleTests {
    private func objection(_ password: String, names: [String] = []) throws -> SecretObjection? {
        NewPasswordRule.objection(to: try SecretBytes(utf8: password), names: names)
    }

    @Test(arguments: [
        ("", "tooShort", "at least 8"), ("seven77", "tooShort", "at least 8"), ("1234567", "tooShort", "at least 8"),
        ("aaaaaaaa", "repetition", "repeats"), ("abababab", "repetition", "repeats"),
        ("abcabcabc", "repetition", "repeats"), ("AbCdAbCd", "repetition", "repeats"), ("12345678", "run", "run"),
        ("87654321", "run", "run"), ("abcdefgh", "run", "run"), ("QWERTZUI", "run", "run"),
        ("asdfghjkl", "run", "run"), ("1q2w3e4r5t", "run", "run"), ("password", "common", "tried first"),
        ("Password123!", "common", "tried first"), ("P@ssw0rd", "common", "tried first"),
        ("passwort1", "common", "tried first"), ("!!letmein!!", "common", "tried first"),
        ("qwerty123", "common", "tried first"), ("iloveyou2024", "common", "tried first"),
    ])
    func `when a password is easily guessed, then it is refused`(
        password: String, code: String, reason: String
    ) throws {
        let objection = try #require(try objection(password))
        #expect(objection.description.contains(reason), "\(objection)")
        #expect(objection.code.name == code && objection.secret == .password)
        #expect(objection.least == (code == "tooShort" ? 8 : nil) && objection.most == nil)
    }

    @Test(arguments: ["alice123", "Alice2024!", "alicealice", "1234alice", "example!!"])
    func `when passwords consist of a name, then they are refused`(password: String) throws {
        let names = ["alice", "alice@example.com"]
        let objection = try #require(try objection(password, names: names))
        #expect(objection.code == .ownName && objection.description.contains("own name"))
    }

    @Test(arguments: [
        "tea at half past four", "correct horse battery staple", "xK9#mQ2p", "Grüße aus Köln", "猫が好きです本当に",
        "mypassword-is-long", "alice in wonderland",
    ])
    func `when a password is strong, then it is accepted`(password: String) throws {
        #expect(try objection(password, names: ["alice", "alice@example.com"]) == nil)
    }

    @Test func `when a password has multibyte characters, then each counts once`() throws {
        #expect(try objection("ééééëëë")?.description.contains("at least 8") == true)
        let garbled = NewPasswordRule.objection(to: try SecretBytes(copying: [0xFF, 0xFE]))
        #expect(garbled?.code == .notText && garbled?.description.contains("UTF-8") == true)
        let control = try #require(try objection("tea\u{07}at four"))
        #expect(control.code == .forbiddenCharacter && control.description.contains("forbidden character"))
    }
}
