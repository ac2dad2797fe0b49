internal import CredentialVault
internal import Foundation
internal import VaultBase

/// The place where the command asks its questions. ``Asking`` chooses one.
protocol Terminal: Sendable {
    /// Whether there is somebody to ask for a secret, or for a yes or no.
    var isInteractive: Bool { get }
    /// Whether there is somebody to ask for a line of text.
    var asksForText: Bool { get }
    /// Asks for a secret, without echo.
    func askSecret(_ prompt: String) async throws -> SecretBytes
    /// Asks for a line of text.
    func ask(_ prompt: String) async throws -> String
    /// Asks a question whose safe answer is no.
    func confirm(_ question: String) async throws -> Bool
    /// Tells the person something that matters for the next answer.
    func tell(_ remark: String)
}

extension Terminal {
    var asksForText: Bool { isInteractive }

    func confirm(_ question: String) async throws -> Bool {
        let answer = try await ask("\(question) [y/N] ").lowercased()
        return answer == "y" || answer == "yes"
    }

    func tell(_ remark: String) { Output.note(remark) }
}

/// The terminal that controls the process (`/dev/tty`), also if standard input or output is a file or pipe.
struct ControllingTerminal: Terminal {
    private static let path = "/dev/tty"

    var isInteractive: Bool {
        let descriptor = open(Self.path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    func askSecret(_ prompt: String) async throws -> SecretBytes {
        try await Self.askBlocking(prompt, echo: false).take()
    }

    func ask(_ prompt: String) async throws -> String {
        try await Self.askBlocking(prompt, echo: true).take().utf8String() ?? ""
    }

    private static func askBlocking(_ prompt: String, echo: Bool) async throws -> SecretBox {
        Spinner.stopAll()
        return try await OneAnswer<SecretBox>().wait {
            try SecretBox(read(prompt, echo: echo))
        } ifCancelled: {
            TerminalMode.restore()
            Output.note("")  // ends the line of the prompt
        }
    }

    private static func read(_ prompt: String, echo: Bool) throws -> SecretBytes {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw NoTerminal.error }
        defer { close(descriptor) }
        if !echo { try TerminalMode.hideInput(descriptor) }
        defer { if !echo { TerminalMode.restore() } }
        let text = Array(prompt.utf8)
        _ = Foundation.write(descriptor, text, text.count)
        let line = try SecretReader.line(from: descriptor)
        if !echo { _ = Foundation.write(descriptor, "\n", 1) }
        guard let line else { throw VaultError(.cancelled, "Cancelled.") }
        return try line.take()
    }
}

/// The hidden input of the terminal, and how to end it, also from a signal's handler.
enum TerminalMode {
    private struct Saved: Sendable {
        let descriptor: Int32
        let mode: termios
    }

    private static let saved = Lock<Saved?>(nil)

    /// Turns off the echo. Also turns off Ctrl-Z and Ctrl-\, which would leave the shell without echo.
    static func hideInput(_ descriptor: Int32) throws {
        var mode = termios()
        guard tcgetattr(descriptor, &mode) == 0 else {
            throw VaultError(.configurationInvalid, "The terminal cannot hide the password.")
        }
        saved.withLock { $0 = Saved(descriptor: descriptor, mode: mode) }
        mode.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        mode.c_lflag |= tcflag_t(ICANON | ISIG)
        withUnsafeMutableBytes(of: &mode.c_cc) { bytes in
            bytes[Int(VSUSP)] = 0
            bytes[Int(VQUIT)] = 0
        }
        guard tcsetattr(descriptor, TCSAFLUSH, &mode) == 0 else {
            throw VaultError(.configurationInvalid, "The terminal cannot hide the password.")
        }
    }

    /// - Returns: whether the echo was off. The cursor then stands behind a prompt.
    @discardableResult
    static func restore() -> Bool {
        saved.withLock { saved in
            guard var mode = saved?.mode, let descriptor = saved?.descriptor else { return false }
            tcsetattr(descriptor, TCSAFLUSH, &mode)
            saved = nil
            return true
        }
    }
}
