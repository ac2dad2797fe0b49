import Testing

@testable import VaultCrypto

@Suite struct RecoveryCodeTests {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    private func newCode() throws -> String {
        let code = try RecoveryCode.random().utf8String()
        return try #require(code)
    }

    private func read(_ text: String) throws -> String? {
        try RecoveryCode.canonical(SecretBytes(utf8: text)).utf8String()
    }

    private func objection(_ text: String) throws -> String {
        let error = try #require(throws: VaultCryptoError.self) { _ = try read(text) }
        #expect(error.code == .invalidRecovery)
        return error.description
    }

    @Test func `when a recovery code is made, then eight groups result`() throws {
        var seen: Set<Character> = []
        for _ in 0..<50 {
            let code = try newCode()
            let groups = code.split(separator: "-", omittingEmptySubsequences: false)
            #expect(groups.map(\.count) == Array(repeating: 4, count: 8))
            #expect(try read(code) == groups.joined())
            seen.formUnion(groups.joined())
        }
        #expect(seen == Set(Self.alphabet))
        #expect(try newCode() != newCode())
    }

    @Test func `when a code is typed differently, then it still reads`() throws {
        let code = try newCode()
        let plain = code.filter { $0 != "-" }
        let ways = [
            plain, code.lowercased(), code.replacing("-", with: " "), "  \(code)\n", plain.map { "\($0) " }.joined(),
            code.replacing("1", with: "I").replacing("0", with: "O"), code.lowercased().replacing("1", with: "l"),
            code.replacing("1", with: "i").replacing("0", with: "o"), code.replacing("-", with: " – "),
            code.replacing("-", with: "\u{2011}"), code.replacing("-", with: "\u{00A0}"),
            code.replacing("-", with: "\u{2212}"), code.replacing("-", with: "\r\n\t"),
        ]
        for way in ways { #expect(try read(way) == plain, "\(way)") }
    }

    @Test func `when one character is wrong, then most codes are refused`() throws {
        var missed = 0
        var tried = 0
        for _ in 0..<10 {
            let code = Array(try newCode().filter { $0 != "-" })
            for index in code.indices {
                for other in [Self.alphabet[tried % 32], Self.alphabet[(tried + 11) % 32]] where other != code[index] {
                    var typed = code
                    typed[index] = other
                    tried += 1
                    if (try? read(String(typed))) != nil { missed += 1 }
                }
                var typed = code
                typed.swapAt(index, (index + 1) % code.count)
                guard typed != code else { continue }
                tried += 1
                if (try? read(String(typed))) != nil { missed += 1 }
            }
        }
        // One code in 1,024 passes. More than 12 of about 900 codes would be a very rare accident.
        #expect(tried > 800)
        #expect(missed <= 12)
    }

    @Test func `when a group is wrong, then the error names it`() throws {
        let code = try newCode()
        var groups = code.split(separator: "-").map(String.init)
        let third = groups[2]
        groups[2] = "A*\(third.suffix(2))"
        #expect(try objection(groups.joined(separator: "-")).contains("Group 3 of the recovery code has a character"))
        groups[2] = String(third.dropLast())
        #expect(try objection(groups.joined(separator: " ")).contains("Group 3 of the recovery code has 3 characters"))
        groups[2] = String(third.prefix(1))
        #expect(try objection(groups.joined(separator: " ")).contains("has 1 character instead of 4"))
        groups[2] = third + "é"
        #expect(try objection(groups.joined(separator: " ")).contains("Group 3 of the recovery code has 5 characters"))
        groups[2] = "U" + third.dropFirst()
        #expect(try objection(groups.joined()).contains("Group 3"))
        #expect(
            try objection(String(code.filter { $0 != "-" }.dropLast())).contains("32 characters, and this one has 31"))
        #expect(try objection("").contains("has 0"))
        #expect(try objection("-- --").contains("has 0"))
        #expect(try objection(code + code).contains("has 64"))
        groups[2] = third
        groups.swapAt(0, 1)
        let swapped = try objection(groups.joined(separator: "-"))
        #expect(!swapped.contains("Group") && !swapped.contains(third))
    }

    @Test func `when bytes are not UTF-8, then reading throws`() throws {
        for bytes in [[0xE2], [0xE2, 0x80], [0xC2], [0xFF, 0xFE], [UInt8](repeating: 0x80, count: 32)] as [[UInt8]] {
            #expect(throws: VaultCryptoError.self) { _ = try RecoveryCode.canonical(SecretBytes(copying: bytes)) }
        }
    }

    /// Later versions must still read codes that people wrote down.
    @Test func `when an older recovery code is typed, then it reads`() throws {
        // 30 characters, and the first 10 bits of HKDF-SHA512 over them, computed with another implementation.
        #expect(try read(Self.written) == Self.written.filter { $0 != "-" })
    }

    private static let written = "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXDY"
}
