internal import VaultCrypto

/// The rules for PINs of digits.
enum NumberRule {
    /// - Parameters:
    ///   - digits: 0 to 9 each. They are not copied.
    ///   - common: the PINs that a thief tries first.
    static func objection(to digits: UnsafeRawBufferPointer, common: Set<String>) -> SecretObjection? {
        if PINRule.isRepetition(digits) { return .pinRepeats }
        if isRun(digits) {
            return SecretObjection(
                .run, of: .pin,
                "The PIN is a run: its digits go up or down in equal steps (0 follows 9), such as 2468, 8901 or 112233."
            )
        }
        if isOnKeypad(digits) {
            return SecretObjection(
                .run, of: .pin,
                "The PIN is a run on the keypad: straight lines, also after or before a 0, such as 147258, 0147 or 2580."
            )
        }
        if PINDates.contain(digits) { return SecretObjection(.date, of: .pin, "The PIN is a date or a year.") }
        let text = digits.lazy.map { $0 + UInt8(ascii: "0") }
        return common.contains { $0.utf8.elementsEqual(text) } ? .pinIsCommon : nil
    }

    /// Whether the digits have the same step: 1234, 9876, 8901, 2468, 1470; or 112233.
    private static func isRun(_ digits: UnsafeRawBufferPointer) -> Bool {
        /// Whether the step from digit to digit, or to the second next, is always the same.
        func isEven(by stride: Int) -> Bool {
            func step(_ index: Int) -> Int { (Int(digits[index + stride]) - Int(digits[index]) + 10) % 10 }
            return Swift.stride(from: 0, to: digits.count - stride, by: stride).allSatisfy { step($0) == step(0) }
        }
        guard digits.count >= 3 else { return false }
        let isDoubled =
            digits.count % 2 == 0
            && stride(from: 0, to: digits.count, by: 2).allSatisfy { digits[$0] == digits[$0 + 1] }
        return isEven(by: 1) || isDoubled && isEven(by: 2)
    }

    /// Whether the digits are lines of the keypad, with the zero before or after: 2580, 147258, 159753.
    private static func isOnKeypad(_ digits: UnsafeRawBufferPointer) -> Bool {
        func isOfLines(_ part: Slice<UnsafeRawBufferPointer>) -> Bool {
            !part.isEmpty && part.count % 3 == 0
                && stride(from: 0, to: part.count, by: 3).allSatisfy { start in
                    let line = part.dropFirst(start).prefix(3)
                    return lines.contains { line.elementsEqual($0) || line.elementsEqual($0.reversed()) }
                }
        }
        return isOfLines(digits[...]) || digits.first == 0 && isOfLines(digits.dropFirst())
            || digits.last == 0 && isOfLines(digits.dropLast())
    }

    private static let lines: [[UInt8]] = [
        [1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 4, 7], [2, 5, 8], [3, 6, 9], [1, 5, 9], [3, 5, 7],
    ]
}
