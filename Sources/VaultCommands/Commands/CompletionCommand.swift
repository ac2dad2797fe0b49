internal import ArgumentParser

struct CompletionCommand: ParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion", abstract: "Print a completion script for the shell.",
        discussion: """
            For bash:

              mkdir -p ~/.local/share/bash-completion/completions
              vault completion bash > ~/.local/share/bash-completion/completions/vault

            The shell then completes commands and options. It also completes the names of accounts, unlock methods and items \
            that are on this machine, without a password and without the network.
            """)

    @Argument(help: "bash, zsh or fish.", completion: .list(["bash", "zsh", "fish"]))
    var shell: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        guard let shell = CompletionShell(rawValue: shell) else {
            throw ValidationError("There are completion scripts for bash, zsh and fish.")
        }
        let script = VaultCommand.completionScript(for: shell) + (shell == .bash ? BashNames.script : "")
        if global.json { return Output.json(["script": script]) }
        Output.raw(script)
    }
}
