internal import ArgumentParser
internal import CLinux
internal import VaultManual

@main
enum Main {
    static func main() async {
        _ = linux_forbid_dumps()
        await VaultKeyService.main()
    }
}

struct VaultKeyService: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault-key-service",
        abstract: "Keeps keys, and hands each out against its secret, with few guesses.",
        discussion: """
            Settings come from the options, then from the environment (VAULT_KEY_SERVICE_DATA, \
            VAULT_KEY_SERVICE_LISTEN, ...), then from the JSON file of --config ({"data": ..., "listen": ..., \
            "basePath": ..., "maxGuesses": ..., "maxGuessesTotal": ..., "masterKeyFile": ..., "logLevel": ...}).

            \(Failure.statuses.paragraph)
            """,
        version: "0.1.0",
        subcommands: [Serve.self, Initialize.self, Keys.self, Backup.self, Manual.self])
}
