internal import ArgumentParser
internal import CLinux
internal import CredentialVault
internal import Foundation
internal import VaultManual

/// The command `vault`, from its arguments to its exit status.
public enum VaultProgram {
    /// Prepares the process. Call this before a second thread exists. For `vault --help`, prints the help and ends the
    /// process.
    public static func prepare() {
        InheritedState.save()
        // Secrets must not leave this process in a core dump. If the system does not allow that, the command still
        // works.
        _ = linux_forbid_dumps()
        Hardware.silenceLibraries()
        // If the reader has gone, the write fails. That is enough.
        signal(SIGPIPE, SIG_IGN)
        // The parser would first read the options of every command.
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments == ["--help"] || arguments == ["-h"] else { return }
        Output.line(VaultCommand.helpMessage())
        exitWhenWritten(isJSON: false)
    }

    /// Runs the command and ends the process.
    public static func run() async -> Never {
        Interruption.install()
        var isJSON = CommandLine.arguments.contains("--json")
        do {
            if Array(CommandLine.arguments.dropFirst()) == ["users"] {
                // The parser would take more time than the rest of the command.
                try await UsersCommand.list()
            } else {
                var command = try await VaultCommand.asyncParseAsRoot()
                isJSON = (command as? any JSONCommand)?.global.json ?? false
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
                if let global = (command as? any JSONCommand)?.global { await AskedSession.finish(global) }
            }
        } catch {
            Interruption.giveWay()
            Spinner.stopAll()
            await Confirmations.finish()
            await fail(error, isJSON: isJSON)
        }
        Notices.tellRest()
        await Confirmations.finish()
        exitWhenWritten(isJSON: isJSON)
    }

    /// Ends the process with `status`, or with an error if a result could not be written.
    private static func exitWhenWritten(_ status: Int32 = ExitStatus.success, isJSON: Bool) -> Never {
        if let failure = Output.unwritten { end(failure, isJSON: isJSON) }
        leave(status)
    }

    private static func end(_ failure: OutputFailure, isJSON: Bool) -> Never {
        end(OutputFailure.name, failure.description, ExitStatus.unwritten, isJSON: isJSON)
    }

    private static func end(_ code: String, _ message: String, _ status: Int32, isJSON: Bool) -> Never {
        if isJSON {
            Output.error(JSONError(code: code, message: message))
        } else {
            Output.note("vault: \(message)")
        }
        leave(status)
    }

    private static func fail(_ error: any Error, isJSON: Bool) async -> Never {
        if let failure = error as? OutputFailure { end(failure, isJSON: isJSON) }
        if let code = error as? ExitCode {
            Notices.tellRest()
            exitWhenWritten(code.rawValue, isJSON: isJSON)
        }
        if let failure = error as? Replacement.Failure {
            end(failure.name, failure.description, failure.status, isJSON: isJSON)
        }
        guard let error = VaultError.converting(error) as? VaultError else {
            let status = VaultCommand.exitCode(for: error).rawValue
            // A shell that completes a word has no place for an error: of a script of another version, say.
            if status != 0, CommandLine.arguments.dropFirst().first == "---completion" { leave(status) }
            guard status != 0 else {
                // Help and version are not errors.
                Output.raw(VaultCommand.fullMessage(for: error))
                exitWhenWritten(isJSON: isJSON)
            }
            let mistake = UsageMistake(
                error, of: VaultCommand.self, arguments: Array(CommandLine.arguments.dropFirst()))
            if isJSON {
                let name = status == ExitStatus.usage ? "usage" : "internal"
                Output.error(JSONError(code: name, message: mistake.message))
            } else {
                Output.note(mistake.text)
            }
            leave(status)
        }
        if error.meansLocked, error.detail != .told { await Proposed.noteLock() }
        let text = error.text
        if isJSON {
            let accounts = await named(error.accounts)
            Output.error(
                JSONError(
                    code: error.code.name, message: text, guessesRemaining: error.guessesRemaining,
                    retryAfter: error.retryAfter?.components.seconds,
                    accounts: accounts.isEmpty ? nil : accounts))
        } else {
            Output.note("vault: \(text)")
        }
        leave(ExitStatus.of(error.code))
    }

    /// Ends the process at once. The usual exit would first run the destructors of loaded libraries. A token's module
    /// that another thread still uses would then crash, or never end.
    private static func leave(_ status: Int32) -> Never {
        Interruption.giveWay()
        // A question that nobody waits for any more may have turned off the echo.
        TerminalMode.restore(isEnding: true)
        fflush(nil)
        _exit(status)
    }

    private struct JSONError: Encodable {
        let code: String
        let message: String
        var guessesRemaining: Int?
        /// In seconds.
        var retryAfter: Int64?
        var accounts: [NamedAccount]?
    }

    private struct NamedAccount: Encodable {
        let issuer: String
        let subject: String
        let alias: String?
    }

    /// The accounts of an error, with the aliases that a person can type.
    private static func named(_ accounts: [AccountID]) async -> [NamedAccount] {
        var named: [NamedAccount] = []
        for id in accounts {
            let account = try? await GlobalOptions.opened?.storage.account(id)
            named.append(NamedAccount(issuer: id.issuer, subject: id.subject, alias: account?.alias))
        }
        return named
    }
}

/// A command with the global options.
protocol JSONCommand {
    var global: GlobalOptions { get }
}
