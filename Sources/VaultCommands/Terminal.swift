internal import CLinux
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// The place where the command asks its questions. ``Asking`` chooses one.
protocol Terminal: Sendable {
    /// Whether there is somebody to ask for a secret, or for a yes or no.
    var isInteractive: Bool { get }
    /// Whether there is somebody to ask for a line of text.
    var asksForText: Bool { get }
    /// Whether a program may answer in place of the person, for example with a secret that it has stored.
    var mayAnswerByItself: Bool { get }
    /// Asks for a line without echo, which may be any bytes.
    func askHidden(_ prompt: String) async throws -> SecretBytes
    /// Asks for a line of text.
    func ask(_ prompt: String) async throws -> String
    /// Asks a question whose safe answer is no.
    func confirm(_ question: String) async throws -> Bool
    /// Tells the person something that matters for the next answer.
    func tell(_ remark: String)
}

extension Terminal {
    var asksForText: Bool { isInteractive }
    var mayAnswerByItself: Bool { false }

    /// Asks for a password, PIN or code, without echo. No such secret has a control character, so the key service is not
    /// asked about one: that could cost a guess.
    func askSecret(_ prompt: String) async throws -> SecretBytes {
        // Not without end: a window may be a program that answers by itself.
        for _ in 1...4 {
            let secret = try await askHidden(prompt)
            guard secret.hasControlCharacter else { return secret }
            tell("The input has a control character, for example from an arrow key. Type the input again.")
        }
        return try await askHidden(prompt)
    }

    func confirm(_ question: String) async throws -> Bool {
        let answer = try await ask("\(question) [y/N] ").lowercased()
        return answer == "y" || answer == "yes"
    }

    func tell(_ remark: String) { Output.note(remark) }
}

/// The terminal that controls the process (`/dev/tty`), also if standard input or output is a file or pipe.
struct ControllingTerminal: Terminal {
    fileprivate static let path = "/dev/tty"

    var isInteractive: Bool {
        let descriptor = open(Self.path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Whether there is a terminal whose input goes to this program: one in the background gets none.
    var isInForeground: Bool {
        let descriptor = open(Self.path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return tcgetpgrp(descriptor) == getpgrp()
    }

    func askHidden(_ prompt: String) async throws -> SecretBytes {
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
        while true {
            do {
                return try readOnce(prompt, echo: echo, descriptor)
            } catch is SecretReader.Suspended {
                TerminalMode.suspend()
            } catch is TerminalMode.Ending {
                // This program ends with the status of the signal, and not with an error from here.
                while true { pause() }
            }
        }
    }

    private static func readOnce(_ prompt: String, echo: Bool, _ descriptor: Int32) throws -> SecretBytes {
        let suspension = try echo ? nil : TerminalMode.hideInput(descriptor)
        defer {
            if !echo {
                TerminalMode.restore()
                _ = Foundation.write(descriptor, "\n", 1)
            }
        }
        let text = Array(prompt.utf8)
        _ = Foundation.write(descriptor, text, text.count)
        guard let line = try SecretReader.line(from: descriptor, suspension: suspension) else {
            throw VaultError(.cancelled, "Cancelled.")
        }
        return try line.take()
    }
}

extension SecretBytes {
    /// Whether it has a control character of ASCII.
    fileprivate var hasControlCharacter: Bool {
        withUnsafeBytes { bytes in bytes.contains { $0 < 0x20 || $0 == 0x7F } }
    }
}

/// The hidden input of the terminal, and how to end it, also from a signal's handler.
enum TerminalMode {
    // A class, because of a fault of Swift 6.3. With a struct, an optimised program begins with a saved mode of zeros, and
    // restores this mode before the first question. Then Enter and Ctrl-C do nothing.
    private final class Saved: Sendable {
        let descriptor: Int32
        let mode: termios
        /// Whether the command works, and asks nothing.
        let isOfWork: Bool

        init(descriptor: Int32, mode: termios, isOfWork: Bool = false) {
            self.descriptor = descriptor
            self.mode = mode
            self.isOfWork = isOfWork
        }
    }

    private struct State: Sendable {
        var saved: Saved?
        /// Whether this program is about to end.
        var isEnding = false
        /// Whether this program has asked for a secret.
        var hasAsked = false
    }

    /// Thrown when this program is about to end.
    struct Ending: Error {}

    /// The mode of the terminal changes only under this lock: otherwise the input could be hidden again after the last
    /// restoration, and the shell would have no echo.
    private static let state = Lock(State())

    /// Turns off the echo. Also turns off Ctrl-\, which would leave the shell without echo. For the same reason, Ctrl-Z
    /// does not stop this program at once, but ends the line.
    ///
    /// - Returns: the byte of Ctrl-Z; nil if nothing stops this program.
    /// - Throws: ``Ending``: ask nothing. `VaultError`: the terminal cannot hide the input.
    static func hideInput(_ descriptor: Int32) throws -> UInt8? {
        // After Ctrl-Z, the shell may continue this program in the background. Then this call stops it again, before it
        // takes the shell's mode for that of the terminal.
        tcflush(descriptor, TCIFLUSH)
        return try state.withLock { state in
            guard !state.isEnding else { throw Ending() }
            restore(&state)
            state.hasAsked = true
            var mode = termios()
            guard tcgetattr(descriptor, &mode) == 0 else {
                throw VaultError(.configurationInvalid, "The terminal cannot hide the password.")
            }
            state.saved = Saved(descriptor: descriptor, mode: mode)
            let suspension = hide(&mode)
            guard tcsetattr(descriptor, TCSAFLUSH, &mode) == 0 else {
                throw VaultError(.configurationInvalid, "The terminal cannot hide the password.")
            }
            return suspension
        }
    }

    /// Hides what a person types while the command works, until ``endWork()``: it may be a secret that is typed too
    /// early. Does nothing before the first question for a secret, because the terminal may be another program's.
    ///
    /// Ctrl-Z does nothing meanwhile, because it would leave the shell without echo. Ctrl-C ends the command as usual.
    static func hideWhileWorking() {
        state.withLock { state in
            guard state.hasAsked, !state.isEnding, state.saved == nil else { return }
            let descriptor = open(ControllingTerminal.path, O_RDWR | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { return }
            var mode = termios()
            // In the background, the mode is the shell's.
            guard tcgetpgrp(descriptor) == getpgrp(), tcgetattr(descriptor, &mode) == 0 else {
                close(descriptor)
                return
            }
            state.saved = Saved(descriptor: descriptor, mode: mode, isOfWork: true)
            _ = hide(&mode)
            tcsetattr(descriptor, TCSADRAIN, &mode)
        }
    }

    /// Restores the terminal after ``hideWhileWorking()``, and drops what was typed since then.
    static func endWork() {
        state.withLock { state in
            if state.saved?.isOfWork == true { restore(&state) }
        }
    }

    /// Changes a mode to that of hidden input.
    ///
    /// - Returns: as ``hideInput(_:)``.
    private static func hide(_ mode: inout termios) -> UInt8? {
        mode.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        mode.c_lflag |= tcflag_t(ICANON | ISIG)
        return withUnsafeMutableBytes(of: &mode.c_cc) { bytes -> UInt8? in
            // 0 stands for no key.
            let key = bytes[Int(VSUSP)] == 0 || linux_ignores_signal(SIGTSTP) != 0 ? nil : bytes[Int(VSUSP)]
            if let key { bytes[Int(VEOL)] = key }
            bytes[Int(VSUSP)] = 0
            bytes[Int(VQUIT)] = 0
            return key
        }
    }

    /// Stops this program and its process group, as the terminal does at Ctrl-Z. Returns when the shell continues them.
    /// If no shell could do that, returns at once.
    static func suspend() {
        // Dispatch blocks these signals in its threads. From now on, the calling thread also stops if it uses the
        // terminal in the background.
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGTSTP, SIGTTIN, SIGTTOU] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        signal(SIGTSTP, SIG_IGN)
        kill(0, SIGTSTP)
        signal(SIGTSTP, SIG_DFL)
        // To this thread alone, because then it does not run on before the stop.
        raise(SIGTSTP)
    }

    /// - Parameter isEnding: whether this program is about to end. From now on, no input is hidden.
    /// - Returns: whether the echo was off for a question. The cursor then stands behind its prompt.
    @discardableResult
    static func restore(isEnding: Bool = false) -> Bool {
        state.withLock { state in
            if isEnding { state.isEnding = true }
            let wasAsking = state.saved?.isOfWork == false
            restore(&state)
            return wasAsking
        }
    }

    private static func restore(_ state: inout State) {
        guard let saved = state.saved else { return }
        var mode = saved.mode
        tcsetattr(saved.descriptor, TCSAFLUSH, &mode)
        // A question closes its descriptor itself.
        if saved.isOfWork { close(saved.descriptor) }
        state.saved = nil
    }
}
