internal import ArgumentParser

struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Sign in once with OpenID Connect, and from then on with a password.",
        discussion: """
            The refresh token lies on disk sealed under a key that a key service releases only for the right password, \
            and it counts wrong ones.

            Settings come from options, from CREDENTIAL_VAULT_* in the environment, or from the configuration file \
            (see "vault config").

            Exit status: 0 done, 64 usage, 65 stored data or backup damaged, 66 no such user or item, 69 identity \
            provider or key service unreachable, 75 busy or too many attempts (try again), 77 wrong password or PIN, \
            or a new one that cannot be used, 78 configuration, 80 key locked or gone (use another way in, or \
            register again), 81 refresh token expired or revoked (register again), 82 cancelled or denied, 83 logged \
            out everywhere (register again), or offline for too long (log in with the network), 84 hardware missing, \
            locked or failing (use another way in), 85 forbidden by the policy of this machine, 1 anything else. \
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
            For bash: mkdir -p ~/.local/share/bash-completion/completions && \
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
