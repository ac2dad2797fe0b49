internal import ArgumentParser
internal import VaultBase
internal import VaultManual

struct VaultCommand: AsyncParsableCommand {
    /// The start of each error of the argument parser, as of every other error.
    static let _errorPrefix = "vault: "

    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Sign in once with OpenID Connect, and after that with a password.",
        discussion: """
              vault setup
              vault login
              vault token

            The refresh token is sealed on the disk. To open it, vault needs the right password and the key service. \
            After a few wrong passwords, the key service locks the key.

            Settings come from options, from CREDENTIAL_VAULT_* in the environment, from your settings file, and from \
            the settings file of the machine. See "vault config --help".

            \(ExitStatus.meanings.paragraphs)
            """,
        version: Release.version,
        subcommands: [
            SetupCommand.self, RegisterCommand.self, LoginCommand.self, TokenCommand.self, ExecCommand.self,
            HelperCommand.self, UserInfoCommand.self, UsersCommand.self, StatusCommand.self, ItemCommand.self,
            LockCommand.self,
            AgentCommand.self, AccountCommand.self, BackendCommand.self, UnlockCommand.self, LogoutCommand.self,
            DeleteCommand.self, DevicesCommand.self, KeyServicesCommand.self,
            PasswdCommand.self, RekeyCommand.self, ExportCommand.self, ImportCommand.self,
            DoctorCommand.self, ConfigCommand.self, CompletionCommand.self, ManualCommand.self,
            HandleRedirectCommand.self,
        ])
}
