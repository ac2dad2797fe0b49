/// A secret that the vault makes and the person writes down. It opens the account after a forgotten password.
///
/// It has 8 groups of 4 characters, in an alphabet without I, L, O and U. 30 characters carry 150 random bits. The last
/// two carry 10 bits of their hash, so most typing mistakes are found before they cost a guess.
public enum RecoveryCode {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let groupCount = 8
    private static let groupSize = 4
    private static let count = groupCount * groupSize
    private static let checkedCount = count - 2
    private static let dash = UInt8(ascii: "-")
    /// The longest input, with room for many separators. Reading a longer one would take time.
    private static let maxTypedCount = 1024

    /// Makes a code in the form for people: `XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX`, 39 ASCII characters.
    public static func random() throws -> SecretBytes {
        let random = try SecretBytes.random(count: checkedCount)
        let checked = try SecretBytes(count: checkedCount) { target in
            random.withUnsafeBytes { random in
                for index in 0..<checkedCount { target[index] = alphabet[Int(random[index] & 31)] }
            }
        }
        let check = try check(of: checked)
        return try SecretBytes(count: count + groupCount - 1) { target in
            target.initializeMemory(as: UInt8.self, repeating: dash)
            checked.withUnsafeBytes { checked in
                for index in 0..<checkedCount { target[index + index / groupSize] = checked[index] }
            }
            check.withUnsafeBytes { check in
                for index in 0..<2 { target[target.count - 2 + index] = check[index] }
            }
        }
    }

    /// Reads a typed code, in upper or lower case, with spaces and dashes anywhere, with I and L for 1 and O for 0.
    ///
    /// - Returns: the 32 characters in their normal form.
    /// - Throws: ``VaultCryptoError`` with code `invalidRecovery`: ask for it again. The text names the wrong group if
    ///   it is known.
    public static func canonical(_ typed: borrowing SecretBytes) throws -> SecretBytes {
        guard typed.count <= maxTypedCount else {
            throw invalid("A recovery code has \(count) characters, and this is a much longer text.")
        }
        let code = try SecretBytes(count: count) { target in
            try typed.withUnsafeBytes { try read($0, into: target) }
        }
        let checked = try SecretBytes(count: checkedCount) { target in
            code.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(target.count))) }
        }
        let isRight = try check(of: checked).withUnsafeBytes { check in
            code.withUnsafeBytes { code in check[0] == code[count - 2] && check[1] == code[count - 1] }
        }
        guard isRight else {
            throw invalid("The recovery code has a wrong character: its checksum does not match. Compare every group.")
        }
        return code
    }

    private static func read(_ typed: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) throws {
        var found = 0
        var firstUnknown: Int?
        var groupSizes: [Int] = []
        var isInGroup = false
        var index = 0
        while index < typed.count {
            let separator = separatorLength(typed, at: index)
            guard separator == 0 else {
                isInGroup = false
                index += separator
                continue
            }
            let byte = typed[index]
            index += 1
            if byte & 0xC0 == 0x80 { continue }  // a later byte of a character that is already counted
            if isInGroup { groupSizes[groupSizes.count - 1] += 1 } else { groupSizes.append(1) }
            isInGroup = true
            if let character = read(byte) {
                if found < target.count { target[found] = character }
            } else {
                firstUnknown = firstUnknown ?? found
            }
            found += 1
        }
        guard found == count else {
            let odd = groupSizes.indices.filter { groupSizes[$0] != groupSize }
            guard groupSizes.count == groupCount, odd.count == 1 else {
                throw invalid("A recovery code has \(count) characters, and this one has \(found).")
            }
            let size = groupSizes[odd[0]] == 1 ? "1 character" : "\(groupSizes[odd[0]]) characters"
            throw invalid("Group \(odd[0] + 1) of the recovery code has \(size) instead of \(groupSize).")
        }
        if let firstUnknown {
            throw invalid(
                "Group \(firstUnknown / groupSize + 1) of the recovery code has a character that codes never have.")
        }
    }

    /// Returns the matching character of the alphabet.
    private static func read(_ byte: UInt8) -> UInt8? {
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
        switch upper {
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return UInt8(ascii: "1")
        case UInt8(ascii: "O"): return UInt8(ascii: "0")
        default: return alphabet.contains(upper) ? upper : nil
        }
    }

    /// Returns the length in bytes of a space or dash at this place; 0 if there is none. Text processors change them to
    /// U+00A0, U+2000 to U+2015 or U+2212.
    private static func separatorLength(_ typed: UnsafeRawBufferPointer, at index: Int) -> Int {
        let next = typed[index..<min(index + 3, typed.count)].map { $0 }
        if [0x09, 0x0A, 0x0D, 0x20, dash].contains(next[0]) { return 1 }
        if next.starts(with: [0xC2, 0xA0]) { return 2 }
        let isDash = next.starts(with: [0xE2, 0x80]) && next.count == 3 && (0x80...0x95).contains(next[2])
        return isDash || next == [0xE2, 0x88, 0x92] ? 3 : 0
    }

    /// Returns two characters: the first 10 bits of a hash.
    private static func check(of checked: borrowing SecretBytes) throws -> SecretBytes {
        let hash = try KeyDerivation.hkdf(checked, info: "credential-vault/v1/recovery-code/check", count: 2)
        return try SecretBytes(count: 2) { target in
            hash.withUnsafeBytes { hash in
                target[0] = alphabet[Int(hash[0] >> 3)]
                target[1] = alphabet[Int((hash[0] & 7) << 2 | hash[1] >> 6)]
            }
        }
    }

    private static func invalid(_ text: String) -> VaultCryptoError { VaultCryptoError(.invalidRecovery, text) }
}
