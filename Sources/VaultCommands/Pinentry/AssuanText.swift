internal import CredentialVault

/// The lines of the Assuan protocol.
enum AssuanText {
    enum Kind {
        case ok
        case error(AssuanError)
        /// A part of the secret.
        case data
        /// A question of the program.
        case inquiry
        /// A comment or a status line.
        case remark
    }

    /// The longest line, in bytes, with its end.
    private static let limit = 1000

    /// A command, cut off at the longest line.
    static func line(_ command: String, _ argument: String) -> [UInt8] {
        var line = Array(command.utf8)
        if !argument.isEmpty { line.append(UInt8(ascii: " ")) }
        for scalar in argument.unicodeScalars {
            let bytes = escaped(scalar)
            guard line.count + bytes.count < limit else { break }
            line += bytes
        }
        return line + [UInt8(ascii: "\n")]
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> [UInt8] {
        guard scalar == "%" || scalar.value < 0x20 || scalar.value == 0x7F else { return Array(String(scalar).utf8) }
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(scalar.value >> 4)], digits[Int(scalar.value & 0xF)]]
    }

    /// - Throws: ``AssuanError/silence`` for a line of another protocol.
    static func kind(of line: borrowing SecretBytes) throws -> Kind {
        try line.withUnsafeBytes { try kind($0) }
    }

    private static func kind(_ line: UnsafeRawBufferPointer) throws -> Kind {
        func isWord(_ word: String) -> Bool {
            line.starts(with: word.utf8) && (line.count == word.utf8.count || line[word.utf8.count] == 0x20)
        }
        if isWord("OK") { return .ok }
        if isWord("D") { return .data }
        if isWord("S") || line.isEmpty || line[0] == UInt8(ascii: "#") { return .remark }
        if isWord("INQUIRE") { return .inquiry }
        guard isWord("ERR") else { throw AssuanError.silence }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
        // The upper bits name the part of GnuPG that reports the error.
        let code = words.count > 1 ? (Int(words[1]) ?? 0) & 0xFFFF : 0
        return .error(AssuanError(code: code, description: words.count > 2 ? "\(words[2])." : "error \(code)."))
    }

    /// The content of a data line, without its escapes.
    static func data(of line: borrowing SecretBytes) throws -> SharedSecret {
        try line.withUnsafeBytes { line in
            let content = UnsafeRawBufferPointer(rebasing: line.dropFirst(2))
            let count = decode(content) { _, _ in }
            return try SharedSecret(SecretBytes(count: count) { output in _ = decode(content) { output[$0] = $1 } })
        }
    }

    private static func decode(_ content: UnsafeRawBufferPointer, _ put: (Int, UInt8) -> Void) -> Int {
        var (index, count) = (0, 0)
        while index < content.count {
            if content[index] == UInt8(ascii: "%"), index + 2 < content.count,
                let high = digit(content[index + 1]), let low = digit(content[index + 2])
            {
                put(count, high << 4 | low)
                index += 3
            } else {
                put(count, content[index])
                index += 1
            }
            count += 1
        }
        return count
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    static func joined(_ parts: [SharedSecret]) throws -> SecretBox {
        try SecretBox(
            SecretBytes(count: parts.reduce(0) { $0 + $1.bytes.count }) { output in
                var count = 0
                for part in parts {
                    part.bytes.withUnsafeBytes { bytes in
                        UnsafeMutableRawBufferPointer(rebasing: output[count...]).copyMemory(from: bytes)
                    }
                    count += part.bytes.count
                }
            })
    }
}
