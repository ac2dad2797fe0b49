internal import Foundation
public import VaultCrypto

extension SecretBytes {
    /// The longest allowed line, in bytes.
    private static let longest = 4096
    /// The byte that a terminal sends for Ctrl-C.
    private static let interrupt: UInt8 = 3
    /// Only one prompt at a time: a second one would save the quiet state of the terminal as the normal one.
    private static let turn = NSLock()

    /// Asks a person for a secret. Writes the prompt to the terminal, and reads a line without echo, straight into
    /// guarded memory. Then restores the terminal. If `descriptor` is not a terminal, reads a line without a prompt.
    ///
    /// The call blocks the thread until the person presses Enter or Ctrl-C, and a second call waits for the first. The
    /// cancellation of a task does not end the call. So do not call it on the main actor: use a thread of its own.
    ///
    /// If a signal other than Ctrl-C ends the program during the prompt, the echo stays off. So handle SIGTERM and
    /// SIGHUP: restore the settings that `tcgetattr` returned at the start of the program, and then exit.
    ///
    /// - Parameters:
    ///   - prompt: the text that the person sees, such as `"PIN: "`.
    ///   - descriptor: the descriptor to read; standard input by default.
    /// - Returns: the line without its end; empty at the end of the input.
    /// - Throws: ``VaultError`` with code `cancelled` for Ctrl-C, `passwordUnusable` for more than 4096 bytes (choose a
    ///   shorter secret), or `configurationInvalid` if nothing can be read or the terminal cannot hide the secret.
    public static func readLine(prompt: String, from descriptor: Int32 = 0) throws -> SecretBytes {
        turn.lock()
        defer { turn.unlock() }
        var before = termios()
        let isTerminal = tcgetattr(descriptor, &before) == 0
        if isTerminal {
            guard set(quiet(before), at: descriptor) else {
                throw VaultError(
                    .configurationInvalid, "The terminal cannot hide what is typed. Use another terminal.")
            }
            _ = Array(prompt.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }
        defer {
            if isTerminal {
                _ = set(before, at: descriptor)
                _ = write(descriptor, "\n", 1)
            }
        }
        return try line(from: descriptor, endsAtInterrupt: isTerminal)
    }

    private static func line(from descriptor: Int32, endsAtInterrupt: Bool) throws -> SecretBytes {
        var count = 0
        let line = try SecretBytes(count: longest + 1) { buffer in
            while count < buffer.count {
                // Byte by byte: another reader may need the next line.
                let got = read(descriptor, buffer.baseAddress?.advanced(by: count), 1)
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else {
                    throw VaultError(
                        .configurationInvalid, "The secret could not be read. Check the input, then try again.")
                }
                if got == 0 || buffer[count] == UInt8(ascii: "\n") { return }
                if endsAtInterrupt && buffer[count] == interrupt { throw VaultError(.cancelled, "Cancelled.") }
                count += 1
            }
            let text = "The secret is longer than \(longest) bytes. Choose a shorter one."
            throw VaultError(SecretObjection(.tooLong, of: .password, most: longest, text))
        }
        let length = count
        return try SecretBytes(count: length) { target in
            line.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(length))) }
        }
    }

    /// Returns settings that show nothing of the typed text and end a line at Enter, also after a program in raw mode.
    private static func quiet(_ before: termios) -> termios {
        var quiet = before
        // Without signals, Ctrl-C comes as a byte that ends the line. So the echo cannot stay off.
        quiet.c_lflag &= ~tcflag_t(ECHO | ECHONL | ISIG)
        quiet.c_lflag |= tcflag_t(ICANON)
        quiet.c_iflag = (quiet.c_iflag | tcflag_t(ICRNL)) & ~tcflag_t(IGNCR | INLCR)
        withUnsafeMutableBytes(of: &quiet.c_cc) { $0[Int(VEOL)] = interrupt }
        return quiet
    }

    private static func set(_ mode: termios, at descriptor: Int32) -> Bool {
        var mode = mode
        while tcsetattr(descriptor, TCSAFLUSH, &mode) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }
}
