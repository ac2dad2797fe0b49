internal import Foundation
internal import VaultAuth
public import VaultCrypto

extension SecretBytes {
    /// The longest line that is read, in bytes.
    private static let longest = 4096

    /// Asks a person for a secret: writes the prompt to the terminal, and reads a line with the echo off, straight into
    /// guarded memory. Afterwards the terminal is as it was. Where `descriptor` is no terminal a line is read without a
    /// prompt. It blocks the thread.
    ///
    /// - Parameters:
    ///   - prompt: what the person is asked, such as `"PIN: "`.
    ///   - descriptor: what is read; standard input unless another one is given.
    /// - Returns: the line without its end; empty when the input has ended.
    /// - Throws: ``VaultError``: `cancelled` for Ctrl-C, `passwordUnusable` for more than 4096 bytes,
    ///   `configurationInvalid` when nothing can be read.
    public static func readLine(prompt: String, from descriptor: Int32 = 0) throws -> SecretBytes {
        var before = termios()
        let isTerminal = tcgetattr(descriptor, &before) == 0
        if isTerminal {
            var quiet = before
            // Without the signals, Ctrl-C comes as a byte, which ends the line: the echo cannot stay off then.
            quiet.c_lflag &= ~tcflag_t(ECHO | ISIG)
            withUnsafeMutableBytes(of: &quiet.c_cc) { $0[Int(VEOL)] = interrupt }
            tcsetattr(descriptor, TCSAFLUSH, &quiet)
            _ = prompt.utf8.withContiguousStorageIfAvailable { write(descriptor, $0.baseAddress, $0.count) }
        }
        defer {
            if isTerminal {
                tcsetattr(descriptor, TCSAFLUSH, &before)
                _ = write(descriptor, "\n", 1)
            }
        }
        var count = 0
        let line = try SecretBytes(count: longest + 1) { buffer in
            while count < buffer.count {
                // Byte by byte: the next line may be for somebody else.
                let got = read(descriptor, buffer.baseAddress?.advanced(by: count), 1)
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw VaultError(.configurationInvalid, "The secret cannot be read.") }
                if got == 0 || buffer[count] == UInt8(ascii: "\n") { return }
                if isTerminal && buffer[count] == interrupt { throw VaultError(.cancelled, "Cancelled.") }
                count += 1
            }
            throw VaultError(.passwordUnusable, "The secret is longer than \(longest) bytes. Choose a shorter one.")
        }
        let length = count
        return try SecretBytes(count: length) { target in
            line.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(length))) }
        }
    }

    /// What a terminal sends for Ctrl-C.
    private static let interrupt: UInt8 = 3
}
