internal import Foundation
public import VaultCrypto

/// What a new PIN has to be: digits or any other short secret, and not among the first that anybody would try.
///
/// The rule: 4 characters to 64 bytes; not a repetition or a mirror; not a run, and no line of the keypad or the
/// keyboard; not a date or a year; not one of the most common ones; not made of the user's own names. The key service
/// allows only a few guesses, so this is about the first few hundred guesses, and no estimate of entropy.
public enum PINRule {
    /// The least number of characters, and the greatest number of bytes.
    public static let length = 4...64

    /// Judges a PIN.
    ///
    /// - Parameters:
    ///   - pin: UTF-8.
    ///   - names: what the person is called: user name, e-mail address, alias.
    /// - Returns: nil when it is good enough, or one sentence that says why not.
    public static func objection(to pin: borrowing SecretBytes, names: [String] = []) -> String? {
        guard let text = pin.utf8String() else { return "The PIN is not valid UTF-8." }
        guard text.count >= length.lowerBound else {
            return "The PIN needs at least \(length.lowerBound) digits or characters."
        }
        guard pin.count <= length.upperBound else { return "The PIN is longer than \(length.upperBound) bytes." }
        do {
            _ = try Password.opaqueString(pin)
        } catch {
            return "The PIN has a character that cannot be used."
        }
        let folded = text.lowercased()
        if isRepetition(Array(folded)) { return "The PIN repeats itself." }
        // 15.08.85 is a date, and 12-34 a run.
        let plain = folded.filter { !".-/ ".contains($0) }
        let digits = plain.compactMap(\.wholeNumberValue).filter { $0 < 10 }
        let isNumber = digits.count == plain.count
        if isNumber && isRepetition(digits) { return "The PIN repeats itself." }
        if isNumber ? isRun(digits) || isOnKeypad(digits) : isOnKeyboard(plain) {
            return "The PIN is a run of neighbouring digits or characters."
        }
        if isNumber && PINDates.contain(digits) { return "The PIN is a date or a year." }
        if common.contains(isNumber ? digits.map(String.init).joined() : plain) {
            return "The PIN is one of those that are tried first."
        }
        return isOfName(folded, names) ? "The PIN is made of the user's own name." : nil
    }

    /// 1111, 1212, 123123, 1221, 1122, 111222, and six of only two kinds.
    private static func isRepetition<T: Hashable>(_ text: [T]) -> Bool {
        guard text.count > 1 else { return !text.isEmpty }
        let isPeriodic = (1...text.count / 2).contains { size in
            text.indices.allSatisfy { text[$0] == text[$0 % size] }
        }
        let isMirror = text == Array(text.reversed())
        let isHalved =
            text.count % 2 == 0 && Set(text).count == 2 && Set(text.prefix(text.count / 2)).count == 1
            && Set(text.suffix(text.count / 2)).count == 1
        return isPeriodic || isMirror || isHalved || text.count >= 6 && Set(text).count <= 2
    }

    /// 1234, 9876, 8901, 2468, 1470: always the same step. And 112233.
    private static func isRun(_ digits: [Int]) -> Bool {
        func isEven(_ digits: [Int]) -> Bool {
            let steps = Set(zip(digits, digits.dropFirst()).map { ($1 - $0 + 10) % 10 })
            return steps.count == 1
        }
        guard digits.count >= 3 else { return false }
        let pairs = stride(from: 0, to: digits.count - 1, by: 2).map { [digits[$0], digits[$0 + 1]] }
        let isDoubled = digits.count % 2 == 0 && pairs.allSatisfy { $0[0] == $0[1] }
        return isEven(digits) || isDoubled && isEven(pairs.map { $0[0] })
    }

    /// 2580, 147258, 159753: lines of the keypad, with the zero before or after.
    private static func isOnKeypad(_ digits: [Int]) -> Bool {
        func isOfLines(_ text: Substring) -> Bool {
            !text.isEmpty && text.count % 3 == 0
                && stride(from: 0, to: text.count, by: 3).allSatisfy {
                    let line = String(text.dropFirst($0).prefix(3))
                    return keypad.contains(line) || keypad.contains(String(line.reversed()))
                }
        }
        let text = digits.map(String.init).joined()
        return isOfLines(text[...]) || text.hasPrefix("0") && isOfLines(text.dropFirst())
            || text.hasSuffix("0") && isOfLines(text.dropLast())
    }

    private static func isOnKeyboard(_ text: String) -> Bool {
        let reversed = String(text.reversed())
        return keyboard.contains { $0.contains(text) || $0.contains(reversed) }
    }

    /// A part of a name, or a name with hardly anything around it.
    private static func isOfName(_ pin: String, _ names: [String]) -> Bool {
        let whole = names.map { $0.lowercased() }
        let parts = whole + whole.flatMap { $0.split { !$0.isLetter && !$0.isNumber } }.map(String.init)
        return parts.contains {
            $0.contains(pin)
                || $0.count >= 3 && pin.replacingOccurrences(of: $0, with: "").count < 4 && pin.contains($0)
        }
    }

    private static let keypad: Set<String> = ["123", "456", "789", "147", "258", "369", "159", "357"]

    private static let keyboard = [
        "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm",
        "azertyuiopqsdfghjklmwxcvbn", "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p",
        "1a2b3c4d5e6f7g8h9i", "a1b2c3d4e5f6g7h8i9", "abc123456789", "abcd123456789",
    ]

    /// What is common in the published counts of leaked PINs, and is caught by none of the rules.
    private static let common: Set<String> = [
        // Round numbers and what stands next to them.
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
