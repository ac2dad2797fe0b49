import Testing
import VaultCrypto
import VaultUnlock

@Suite struct PasswordStrengthTests {
    @Test(arguments: [
        ("umbrellas", PasswordStrength.weak), ("xK9#mQ2", .weak), ("27182818284", .weak), ("sunshine99x", .weak),
        ("aabbaabbaabb--aab", .weak), ("alice-adams-7", .fair), ("umbrella-77", .fair), ("xK9#mQ2p", .fair),
        ("seven otters", .fair), ("3.14159265-358", .fair), ("seven otters juggle", .strong), ("xK9#mQ2pT-7w", .strong),
        ("猫が好きです本当にとても大好きですよ", .strong),
    ])
    func `when strength is judged, then length, kinds and words count`(
        password: String, expected: PasswordStrength
    ) throws {
        let names = ["Alice", "adams"]
        #expect(try NewPasswordRule.strength(of: SecretBytes(utf8: password), names: names) == expected, "\(password)")
    }

    @Test func `when bytes are no text, then the password is weak`() throws {
        #expect(NewPasswordRule.strength(of: try SecretBytes(copying: [0xFF, 0xFE])) == .weak)
    }
}
