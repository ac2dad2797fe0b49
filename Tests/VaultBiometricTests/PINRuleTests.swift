import Testing
import VaultBiometric
import VaultCrypto

@Suite struct PINRuleTests {
    private func objection(_ pin: String, names: [String] = []) throws -> SecretObjection? {
        PINRule.objection(to: try SecretBytes(utf8: pin), names: names)
    }

    @Test(arguments: [
        ("", "at least 4 characters"), ("123", "at least 4 characters"), ("éàü", "at least 4 characters"),
        ("0000", "repeats"), ("7777", "repeats"), ("1212", "repeats"), ("6969", "repeats"), ("12121", "repeats"),
        ("123123", "repeats"), ("1221", "repeats"), ("123321", "repeats"), ("1122", "repeats"), ("111222", "repeats"),
        ("100001", "repeats"), ("121112", "repeats"), ("aaaa", "repeats"), ("abab", "repeats"), ("otto", "repeats"),
        ("1234", "run"), ("4321", "run"), ("123456789012", "run"), ("8901", "run"), ("2468", "run"), ("8642", "run"),
        ("1357", "run"), ("0369", "run"), ("112233", "run"), ("998877", "run"), ("12-34", "run"), ("１２３４", "run"),
        ("abcd", "run"), ("zyxw", "run"), ("QWER", "run"), ("asdf", "run"), ("poiu", "run"), ("1q2w3e", "run"),
        ("2580", "run"), ("0852", "run"), ("147258", "run"), ("789456", "run"), ("159753", "run"), ("0147", "run"),
        ("1985", "date"), ("2012", "date"), ("2030", "date"), ("3112", "date"), ("1231", "date"), ("2902", "date"),
        ("150885", "date"), ("081585", "date"), ("850815", "date"), ("198508", "date"), ("081985", "date"),
        ("151985", "date"), ("15081985", "date"), ("08151985", "date"), ("19850815", "date"), ("15.08.1985", "date"),
        ("1004", "date"), ("1337", "tried first"), ("5683", "tried first"), ("203040", "tried first"),
        ("314159", "tried first"), ("5201314", "tried first"), ("0007", "tried first"), ("1379", "tried first"),
        ("love", "tried first"), ("Password", "tried first"),
    ])
    func `when a PIN is easy, then the refusal names why`(pin: String, reason: String) throws {
        let objection = try #require(try objection(pin), "\(pin)")
        #expect(objection.description.contains(reason), "\(objection)")
        #expect(objection.code == Self.codes[reason] && objection.secret == .pin)
        #expect(objection.least == (objection.code == .tooShort ? 4 : nil) && objection.most == nil)
    }

    @Test(arguments: [
        ("8901", "go up or down in equal steps (0 follows 9)"), ("1470", "go up or down in equal steps (0 follows 9)"),
        ("112233", "or 112233."), ("2580", "a run on the keypad: straight lines"), ("0147", "also after or before a 0"),
    ])
    func `when a PIN is a run, then the refusal says which kind`(pin: String, text: String) throws {
        #expect(try objection(pin)?.description.contains(text) == true)
    }

    /// The code of the objection whose text has the words.
    private static let codes: [String: SecretObjection.Code] = [
        "at least 4 characters": .tooShort, "repeats": .repetition, "run": .run, "date": .date, "tried first": .common,
    ]

    /// The twenty most common four-digit PINs by DataGenetics, and the ten most common six-digit ones of Markert et al.
    @Test(arguments: [
        "1234", "1111", "0000", "1212", "7777", "1004", "2000", "4444", "2222", "6969", "9999", "3333", "5555", "6666",
        "1122", "1313", "8888", "4321", "2001", "1010", "123456", "654321", "111111", "000000", "123123", "666666",
        "121212", "112233", "789456", "159753",
    ])
    func `when a PIN is very common, then it is refused`(pin: String) throws {
        #expect(try objection(pin) != nil)
    }

    @Test(arguments: ["alice", "Alic", "alice77", "7Alice", "7346"])
    func `when a PIN repeats the user's name, then it fails`(pin: String) throws {
        #expect(try objection(pin, names: ["alice", "alice7346@example.com"])?.code == .ownName)
    }

    @Test(arguments: [
        "8068", "4927", "90371", "739184", "50482917", "730164829537", "x9k!", "Zug um Zug", "grün", "猫と犬と",
        "alice4927",
    ])
    func `when a PIN is unpredictable, then it is accepted`(pin: String) throws {
        #expect(try objection(pin, names: ["alice", "alice@example.com", "al"]) == nil)
    }

    @Test func `when all PINs are judged, then most are accepted`() throws {
        let four = try (0..<10_000).count { number in
            let digits = String(number)
            return try objection(String(repeating: "0", count: 4 - digits.count) + digits) == nil
        }
        #expect(four > 8_500)
        // Every 997th of a million.
        let six = try stride(from: 100_003, to: 1_000_000, by: 997).count { try objection(String($0)) == nil }
        #expect(six > 700)
    }

    @Test func `when a PIN cannot be retyped, then it is refused`() throws {
        let garbled = PINRule.objection(to: try SecretBytes(copying: [0xFF, 0xFE, 0x31, 0x32, 0x33]))
        #expect(garbled?.code == .notText && garbled?.description.contains("UTF-8") == true)
        let control = try objection("73\u{07}16")
        #expect(control?.code == .forbiddenCharacter && control?.description.contains("forbidden") == true)
        let long = try #require(try objection(String(repeating: "x9", count: 33)))
        #expect(long.code == .tooLong && long.most == 64 && long.description.contains("longer than 64"))
    }
}
