internal import CredentialVault
internal import Foundation
internal import VaultBase

/// A program that asks in a window: GnuPG's pinentry, or one that speaks its protocol.
struct Pinentry: Sendable {
    /// The path of the program.
    let program: String

    /// The program of the setting `pinentry`, or else `pinentry` in `PATH`; nil if there is no program or no display.
    static func configured() async throws -> Pinentry? {
        guard Desktop.hasDisplay else { return nil }
        // If the configured program is missing, the first question reports that.
        if let name = try await Settings()[.pinentry] { return Pinentry(program: ProgramPath.of(name) ?? name) }
        return ProgramPath.of("pinentry").map(Pinentry.init)
    }

    /// Asks for a secret.
    ///
    /// - Parameters:
    ///   - remark: a text that the person should read first, such as the number of guesses left.
    /// - Throws: `VaultError` with code `cancelled` when the person does not answer, `configurationInvalid` when the
    ///   program cannot ask.
    func secret(title: String, description: String, prompt: String, remark: String?) async throws -> SecretBytes {
        try await converse { connection in
            try introduce(title, description, connection.greet())
            try connection.set("SETPROMPT", prompt)
            if let remark { try connection.set("SETERROR", remark) }
            return try SecretBox(connection.ask("GETPIN"))
        }.take()
    }

    /// Asks for a yes or a no.
    ///
    /// - Parameters:
    ///   - description: the question, in one or more lines.
    /// - Returns: false also when the person closes the window.
    /// - Throws: `VaultError` with code `cancelled` when the task was cancelled, `configurationInvalid` when the
    ///   program cannot ask.
    func confirm(title: String, description: String) async throws -> Bool {
        try await converse { connection in
            // The question window of pinentry-fltk takes Escape as a yes (seen with version 1.2.1).
            if try connection.greet().set("GETINFO", "flavor")?.contains("fltk") ?? false {
                return try confirmByWord(title, description, connection)
            }
            try introduce(title, description, connection)
            try connection.set("SETOK", "Yes")
            try connection.set("SETCANCEL", "No")
            do {
                _ = try connection.ask("CONFIRM")
                return true
            } catch let error as AssuanError where error.isRefusal {
                return false
            }
        }
    }

    @Sendable private func confirmByWord(
        _ title: String, _ description: String, _ connection: AssuanConnection
    ) throws -> Bool {
        try introduce(title, "\(description)\n\nTo agree, type yes.", connection)
        try connection.set("SETPROMPT", "yes?")
        do {
            return try connection.ask("GETPIN").isEqual(to: SecretBytes(utf8: "yes"))
        } catch let error as AssuanError where error.isRefusal {
            return false
        }
    }

    @Sendable private func introduce(_ title: String, _ description: String, _ connection: AssuanConnection) throws {
        // Other windows stay usable while this window is open.
        try connection.set("OPTION", "no-grab")
        for (option, category) in [("lc-ctype", "LC_CTYPE"), ("lc-messages", "LC_MESSAGES")] {
            let environment = ProcessInfo.processInfo.environment
            let locale = ["LC_ALL", category, "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty }
            if let locale { try connection.set("OPTION", "\(option)=\(locale)") }
        }
        try connection.set("SETTITLE", title)
        try connection.set("SETDESC", description)
    }

    /// Runs the program for one question. The program ends with this call, or with a signal that ends `vault`.
    private func converse<R: Sendable>(_ body: @escaping @Sendable (AssuanConnection) throws -> R) async throws -> R {
        Spinner.stopAll()
        let window = Window(try ChildProgram(program, [], hasOwnGroup: true))
        let stop = try Undoing.after({}, { window.close() })
        defer {
            window.isAsking.withLock { $0 = false }
            stop()
        }
        do {
            return try await OneAnswer<R>().wait {
                do {
                    return try body(AssuanConnection(descriptor: window.program.descriptor))
                } catch {
                    window.waitForEnd()
                    throw error
                }
            } ifCancelled: {
                window.program.kill()
            }
        } catch let error as AssuanError {
            if error.isRefusal { throw VaultError(.cancelled, "Cancelled.") }
            throw VaultError(
                .configurationInvalid,
                "\(program) cannot ask: \(Printable.text(error.description)) To use another program: vault config set pinentry PATH"
            )
        }
    }

    /// The program while it asks.
    private final class Window: Sendable {
        let program: ChildProgram
        let isAsking = Lock(true)
        private let isEnding = Lock(false)

        init(_ program: ChildProgram) { self.program = program }

        /// Closes the window because a signal ends `vault`.
        func close() {
            let isAsking = isAsking.withLock { $0 }
            isEnding.withLock { $0 = isAsking }
            program.kill()
        }

        /// Stops the thread if a signal closed the window. The signal then decides how `vault` ends.
        func waitForEnd() {
            while isEnding.withLock({ $0 }) { pause() }
        }
    }
}
