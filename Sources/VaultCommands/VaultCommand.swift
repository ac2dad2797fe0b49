internal import ArgumentParser
internal import VaultManual

struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Sign in once with OpenID Connect, and from then on with a password.",
        discussion: """
            The refresh token lies on disk sealed under a key that a key service releases only for the right password, \
            and it counts wrong ones.

            Settings come from options, from CREDENTIAL_VAULT_* in the environment, or from the configuration file \
            (see "vault config").

            \(ExitStatus.meanings.paragraph)
            """,
        version: "0.1.0",
        subcommands: [
            RegisterCommand.self, LoginCommand.self, TokenCommand.self, ExecCommand.self, HelperCommand.self,
            UserInfoCommand.self, UsersCommand.self, StatusCommand.self, ItemCommand.self, LockCommand.self,
            AgentCommand.self, AccountCommand.self, BackendCommand.self, UnlockCommand.self, LogoutCommand.self,
            DeleteCommand.self,
            PasswdCommand.self, ExportCommand.self, ImportCommand.self,
            DoctorCommand.self, ConfigCommand.self, CompletionCommand.self, ManualCommand.self,
            HandleRedirectCommand.self,
        ])
}
