/// Bytes as hexadecimal digits in lower case.
package enum Hexadecimal {
    private static let allDigits = Array("0123456789abcdef".utf8)

    /// Returns two digits for each byte, in ASCII.
    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.withContiguousStorageIfAvailable(digits) ?? Array(bytes).withUnsafeBufferPointer(digits)
    }

    private static func digits(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        let digits = allDigits
        return [UInt8](unsafeUninitializedCapacity: bytes.count * 2) { text, count in
            for (index, byte) in bytes.enumerated() {
                text.initializeElement(at: 2 * index, to: digits[Int(byte >> 4)])
                text.initializeElement(at: 2 * index + 1, to: digits[Int(byte & 15)])
            }
            count = bytes.count * 2
        }
    }

    /// Returns two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: encode(bytes), as: UTF8.self) }

    /// Returns nil if the text has another character than `0`–`9` and `a`–`f`, or half a byte.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let values = text.compactMap { digit in allDigits.firstIndex(of: digit).map(UInt8.init) }
        guard values.count == text.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
}
