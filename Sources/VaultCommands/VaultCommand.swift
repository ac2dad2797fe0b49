internal import ArgumentParser

struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Sign in once with OpenID Connect, and after that with a password.",
        discussion: """
              vault register
              vault login
              vault token

            The refresh token is sealed on the disk. The key service releases the key only for the right password. \
            After a few wrong passwords it locks the key.

            Settings come from options, from CREDENTIAL_VAULT_* in the environment, and from the configuration file. \
            See "vault config --help".

            Exit status:
               0  done
               1  any other error
              64  wrong usage
              65  stored data or backup is damaged
              66  no such user or item
              69  provider or key service cannot be reached: try later
              75  busy, or too many attempts: try again
              77  wrong password or PIN, or a new one is refused
              78  wrong or missing configuration
              80  key is locked or gone: use another way in, or register again
              81  refresh token has expired or is revoked: register again
              82  cancelled or denied
              83  logged out everywhere: register again. Offline too long: log in online
              84  hardware is missing, locked or failing: use another way in
              85  forbidden by the policy of this machine

            "vault exec" ends with the exit status of its command. With --json, errors are JSON on standard error.
            """,
        version: "0.1.0",
        subcommands: [
            RegisterCommand.self, LoginCommand.self, TokenCommand.self, ExecCommand.self, HelperCommand.self,
            UserInfoCommand.self, UsersCommand.self, StatusCommand.self, ItemCommand.self, LockCommand.self,
            AgentCommand.self, AccountCommand.self, BackendCommand.self, UnlockCommand.self, LogoutCommand.self,
            DeleteCommand.self,
            PasswdCommand.self, ExportCommand.self, ImportCommand.self,
            DoctorCommand.self, ConfigCommand.self, CompletionCommand.self, HandleRedirectCommand.self,
        ])
}

struct CompletionCommand: ParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion", abstract: "Print a completion script for the shell.",
        discussion: """
            For bash:

              mkdir -p ~/.local/share/bash-completion/completions
              vault completion bash > ~/.local/share/bash-completion/completions/vault
            """)

    @Argument(help: "bash, zsh or fish.")
    var shell: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        guard let shell = CompletionShell(rawValue: shell) else {
            throw ValidationError("There are completion scripts for bash, zsh and fish.")
        }
        let script = VaultCommand.completionScript(for: shell)
        if global.json { return Output.json(["script": script]) }
        Output.raw(script)
    }
}
