internal import ArgumentParser
internal import CLinux
internal import VaultBase
internal import VaultManual

@main
enum Main {
    static func main() async {
        _ = linux_forbid_dumps()
        do {
            var command = try await VaultKeyService.asyncParseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            await end(error)
        }
    }

    private static func end(_ error: any Error) async -> Never {
        guard !(error is ExitCode) else { VaultKeyService.exit(withError: error) }
        let status = VaultKeyService.exitCode(for: error)
        // Help and version are not errors.
        guard status == .success else {
            let arguments = Array(CommandLine.arguments.dropFirst())
            Output.usage(UsageMistake(error, of: VaultKeyService.self, arguments: arguments).text)
            VaultKeyService.exit(withError: status)
        }
        do {
            try await Failure.reporting { Output.result(VaultKeyService.fullMessage(for: error)) }
        } catch {
            VaultKeyService.exit(withError: error)
        }
        VaultKeyService.exit()
    }
}

struct VaultKeyService: AsyncParsableCommand {
    /// The start of each error of the argument parser, as of every other error.
    static let _errorPrefix = "vault-key-service: "

    static let configuration = CommandConfiguration(
        commandName: "vault-key-service",
        abstract: "Keep keys that open accounts, count guesses, and lock a key after a few wrong guesses.",
        discussion: """
              vault-key-service init --data /var/lib/vault-key-service
              vault-key-service serve --data /var/lib/vault-key-service

            Settings come from options, then from the environment (VAULT_KEY_SERVICE_DATA, VAULT_KEY_SERVICE_LISTEN, \
            ...), then from the JSON file of --config. The names in the file: \(SettingName.list).

            \(Failure.statuses.paragraphs)
            """,
        version: Release.version,
        subcommands: [
            Serve.self, Initialize.self, Keys.self, Backup.self, Restore.self, AcceptRollback.self, MigrateStore.self,
            MakeMasterKey.self, RotateMasterKey.self, Identity.self, Audit.self, Manual.self,
        ])
}
