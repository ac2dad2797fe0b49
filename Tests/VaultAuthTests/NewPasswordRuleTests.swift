import CredentialVault
import Testing

@Suite struct NewPasswordRuleTests {
    private func objection(_ password: String, names: [String] = []) throws -> String? {
        NewPasswordRule.objection(to: try SecretBytes(utf8: password), names: names)
    }

    @Test(arguments: [
        ("", "at least 8"), ("seven77", "at least 8"), ("1234567", "at least 8"), ("aaaaaaaa", "repeats"),
        ("abababab", "repeats"), ("abcabcabc", "repeats"), ("AbCdAbCd", "repeats"), ("12345678", "run"),
        ("87654321", "run"), ("abcdefgh", "run"), ("QWERTZUI", "run"), ("asdfghjkl", "run"), ("1q2w3e4r5t", "run"),
        ("password", "tried first"), ("Password123!", "tried first"), ("P@ssw0rd", "tried first"),
        ("passwort1", "tried first"), ("!!letmein!!", "tried first"), ("qwerty123", "tried first"),
        ("iloveyou2024", "tried first"),
    ])
    func `the first guesses of anybody are refused`(password: String, reason: String) throws {
        let objection = try #require(try objection(password))
        #expect(objection.contains(reason), "\(objection)")
    }

    @Test(arguments: ["alice123", "Alice2024!", "alicealice", "1234alice", "example!!"])
    func `a password made of one's own name is refused`(password: String) throws {
        let names = ["alice", "alice@example.com"]
        #expect(try objection(password, names: names)?.contains("own name") == true)
    }

    @Test(arguments: [
        "tea at half past four", "correct horse battery staple", "xK9#mQ2p", "Grüße aus Köln", "猫が好きです本当に",
        "mypassword-is-long", "alice in wonderland",
    ])
    func `others are good enough`(password: String) throws {
        #expect(try objection(password, names: ["alice", "alice@example.com"]) == nil)
    }

    @Test func `characters are counted, not bytes`() throws {
        #expect(try objection("ééééëëë")?.contains("at least 8") == true)
        #expect(NewPasswordRule.objection(to: try SecretBytes(copying: [0xFF, 0xFE]))?.contains("UTF-8") == true)
    }
}
