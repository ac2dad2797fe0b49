internal import Foundation
public import VaultCrypto

/// The rule for a new PIN: not one that thieves try first.
///
/// The PIN has 4 characters to 64 bytes: digits, letters or other characters. It is not a repetition, mirror, run, line
/// of the keypad or keyboard, date, year, common PIN, or one of the user's names. The key service allows few guesses, so
/// the rule covers the first few hundred. It does not estimate entropy.
public enum PINRule {
    /// The smallest number of characters, and the largest number of bytes.
    public static let length = 4...64

    /// Judges a PIN.
    ///
    /// - Parameters:
    ///   - pin: UTF-8.
    ///   - names: the person's names: user name, e-mail address, alias.
    /// - Returns: nil if the PIN is good enough, else the reason.
    public static func objection(to pin: borrowing SecretBytes, names: [String] = []) -> SecretObjection? {
        let rule = TextRule(byteCount: pin.count, names: names)
        if let objection = rule.objection(toSecret: pin, invalid: .notText(.pin)) { return objection }
        do {
            _ = try Password.opaqueString(pin)
            return nil
        } catch {
            return SecretObjection(.forbiddenCharacter, of: .pin, "The PIN has a forbidden character.")
        }
    }

    private struct TextRule: SecretTextRule {
        let byteCount: Int
        let names: [String]

        func objection(to text: some BidirectionalCollection<Character>) -> SecretObjection? {
            guard text.count >= length.lowerBound else {
                return SecretObjection(
                    .tooShort, of: .pin, least: length.lowerBound,
                    "The PIN needs at least \(length.lowerBound) characters.")
            }
            guard byteCount <= length.upperBound else {
                return SecretObjection(
                    .tooLong, of: .pin, most: length.upperBound, "The PIN is longer than \(length.upperBound) bytes.")
            }
            if isRepetition(text) { return .pinRepeats }
            // Without separators, 15.08.85 is a date, and 12-34 a run.
            let plain = text.lazy.filter { !".-/ ".contains($0) }
            let isNumber = plain.allSatisfy { digit($0) != nil }
            let objection = isNumber ? objection(toNumber: plain) : objection(toWord: plain)
            if objection == nil, isOfName(text) {
                return SecretObjection(.ownName, of: .pin, "The PIN is part of the user's own name.")
            }
            return objection
        }

        /// The digits are copied to the stack for the check, and wiped there.
        private func objection(toNumber text: some BidirectionalCollection<Character>) -> SecretObjection? {
            withUnsafeTemporaryAllocation(byteCount: length.upperBound, alignment: 1) { buffer in
                defer { if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) } }
                var count = 0
                for character in text where count < buffer.count {
                    buffer[count] = digit(character) ?? 0
                    count += 1
                }
                return NumberRule.objection(to: UnsafeRawBufferPointer(rebasing: buffer[..<count]), common: common)
            }
        }

        private func objection(toWord text: some BidirectionalCollection<Character>) -> SecretObjection? {
            if keyboard.contains(where: { text.isPart(of: $0) || text.reversed().isPart(of: $0) }) {
                return SecretObjection(.run, of: .pin, "The PIN is a run of neighbouring digits or characters.")
            }
            return common.contains { $0.elementsEqual(text) } ? .pinIsCommon : nil
        }

        private func digit(_ character: Character) -> UInt8? {
            character.wholeNumberValue.flatMap { (0..<10).contains($0) ? UInt8($0) : nil }
        }

        /// Whether the PIN is a part of a name, or a name with little around it.
        private func isOfName(_ pin: some BidirectionalCollection<Character>) -> Bool {
            let whole = names.map { $0.lowercased() }
            let parts = whole + whole.flatMap { $0.split { !$0.isLetter && !$0.isNumber } }.map(String.init)
            return parts.contains {
                pin.isPart(of: $0) || $0.count >= 3 && $0.isPart(of: pin) && pin.count(without: $0) < 4
            }
        }
    }

    /// Whether it repeats: 1111, 1212, 123123, 1221, 1122, 111222, or six or more of only two kinds.
    static func isRepetition<Element: Equatable>(_ text: some BidirectionalCollection<Element>) -> Bool {
        guard text.count > 1 else { return !text.isEmpty }
        let isPeriodic = (1...text.count / 2).contains { text.repeats(every: $0) }
        let isMirror = text.elementsEqual(text.reversed())
        let half = text.count / 2
        let isHalved =
            text.count % 2 == 0 && text.prefix(half).repeats(every: 1) && text.suffix(half).repeats(every: 1)
        return isPeriodic || isMirror || isHalved || text.count >= 6 && hasTwoKinds(text)
    }

    private static func hasTwoKinds<Element: Equatable>(_ text: some BidirectionalCollection<Element>) -> Bool {
        guard let first = text.first, let other = text.first(where: { $0 != first }) else { return true }
        return text.allSatisfy { $0 == first || $0 == other }
    }

    private static let keyboard = [
        "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm",
        "azertyuiopqsdfghjklmwxcvbn", "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p",
        "1a2b3c4d5e6f7g8h9i", "a1b2c3d4e5f6g7h8i9", "abc123456789", "abcd123456789",
    ]

    /// The common PINs in published counts of leaked PINs that no other rule catches.
    private static let common: Set<String> = [
        // Round numbers and their neighbours.
        "1000", "0001", "3000", "5000", "9000", "0007", "0070", "7000", "0042", "0069", "1200", "1300", "1500", "1700",
        "203040", "246810", "10203040", "1020304050",
        // Almost runs.
        "1235", "1236", "1243", "1245", "1324", "1342", "1423", "1432", "2134", "2341", "3412", "4123", "123457",
        "123465", "123450", "123455", "124578", "142536", "135790", "135792", "192837", "918273", "13572468",
        "12345679", "12345670", "14725836", "19283746", "1029384756",
        // Around the keypad.
        "1379", "1397", "3971", "9713", "7139", "1793", "7931", "9317", "3179", "2684", "6842", "8426", "4268", "2486",
        "4862", "8624", "6248", "1478", "3698", "7896", "7412", "139713", "179317", "147896", "159874", "123698",
        "12369874", "147896325",
        // Famous numbers, and words as numbers.
        "1337", "5683", "5150", "8055", "4711", "3141", "3142", "2718", "1618", "4200", "9110", "1066", "1492", "1776",
        "1789", "314159", "271828", "141421", "131452", "568356", "246824", "007123", "1314520", "5201314", "8675309",
        "31415926", "27182818", "11235813",
        // Words.
        "pass", "password", "passwort", "passw0rd", "p4ss", "love", "iloveyou", "test", "test123", "test1234", "admin",
        "admin123", "admin1234", "root", "toor", "user", "guest", "secret", "geheim", "hello", "hallo", "welcome",
        "letmein", "changeme", "default", "login", "open", "mypin", "pin1", "code", "house", "home", "king", "dragon",
        "monkey", "master", "hunter2", "batman", "baby", "angel", "jesus", "sunshine", "princess", "football", "sexy",
        "a123", "a1234", "a12345", "a123456", "1234a", "12345a", "123456a", "q1w2", "q1w2e3", "q1w2e3r4", "pass1",
        "pass123", "pass1234", "qwer1234", "1234qwer", "qwe123", "asd123",
    ]
}

extension SecretObjection {
    static let pinRepeats = SecretObjection(.repetition, of: .pin, "The PIN repeats itself.")
    static let pinIsCommon = SecretObjection(.common, of: .pin, "The PIN is too common: it is tried first.")
}
