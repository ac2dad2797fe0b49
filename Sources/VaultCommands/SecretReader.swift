internal import CredentialVault
internal import Foundation

/// Reads secrets from a descriptor straight into guarded memory.
enum SecretReader {
    /// The longest password that is read, in bytes.
    static let limit = 4096

    /// Thrown when the person typed the byte that stops the program.
    struct Suspended: Error {}

    /// Reads a line without its newline; nil at the end of input.
    ///
    /// - Parameter suspension: a byte that ends the line with ``Suspended``; nil for none.
    static func line(from descriptor: Int32, suspension: UInt8? = nil) throws -> SecretBox? {
        try read(descriptor, untilNewline: true, suspension: suspension)
    }

    /// Reads all input. One newline at the end is not part of a password in a file.
    static func all(from descriptor: Int32) throws -> SecretBox? {
        try read(descriptor, untilNewline: false)
    }

    private static func read(
        _ descriptor: Int32, untilNewline: Bool, suspension: UInt8? = nil
    ) throws -> SecretBox? {
        var count = 0
        var isEnd = false
        let buffer = try SecretBytes(count: limit + 2) { buffer in
            while count < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                // A line is read byte by byte, because the next line may be for another program.
                let got = Foundation.read(descriptor, rest.baseAddress, untilNewline ? 1 : rest.count)
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw VaultError(.configurationInvalid, "The password cannot be read.") }
                if got == 0 {
                    isEnd = true
                    break
                }
                count += got
                if let suspension, buffer[count - 1] == suspension { throw Suspended() }
                if untilNewline && buffer[count - 1] == UInt8(ascii: "\n") { break }
            }
            if isEnd && count == 0 { return }
            if count > 0 && buffer[count - 1] == UInt8(ascii: "\n") {
                count -= 1
                if !untilNewline && count > 0 && buffer[count - 1] == UInt8(ascii: "\r") { count -= 1 }
            }
            guard count <= limit else {
                throw VaultError(.passwordUnusable, "The password is longer than \(limit) bytes.")
            }
        }
        if isEnd && count == 0 && untilNewline { return nil }
        let length = count
        return try buffer.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(length))))
        }
    }
}
