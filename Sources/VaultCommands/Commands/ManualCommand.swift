internal import ArgumentParser
internal import Foundation
internal import VaultManual

struct ManualCommand: ParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Show the man page of vault, or of one command.",
        discussion: """
              vault manual
              vault manual unlock add

            If the output is not a terminal, vault prints the source of the page. To install the page for yourself:

              mkdir -p ~/.local/share/man/man1
              vault manual > ~/.local/share/man/man1/vault.1
            """)

    @Argument(help: "The command, such as: unlock add", completion: .commands)
    var command: [String] = []

    @OptionGroup var global: GlobalOptions

    func run() throws {
        let page = try ManualPage(
            of: VaultCommand.self, section: 1, date: ManualPage.date(environment: ProcessInfo.processInfo.environment),
            statuses: ExitStatus.meanings, sections: Self.sections)
        guard let text = page.text(of: command) else {
            throw ValidationError("There is no command \"\(command.joined(separator: " "))\". See: vault --help")
        }
        if global.json { return Output.json(["page": text]) }
        ManualPager.show(text) { InheritedState.saved.restore() }
        Output.raw(text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }

    private static let sections = [
        ManualPage.Section(
            "Environment",
            [
                (
                    "CREDENTIAL_VAULT_*",
                    "The settings that \"vault config\" describes: "
                        + Settings.Name.allCases.map(\.variable).joined(separator: ", ") + "."
                ),
                ("XDG_DATA_HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR", "The folders of the files below."),
                ("BROWSER", "The browser that a sign-in opens."),
                ("NO_COLOR", "If it is set, vault writes no colours."),
            ]),
        ManualPage.Section(
            "Files",
            [
                ("~/.local/share/credential-vault/vault.sqlite", "The accounts, sealed, of this user."),
                ("~/.config/credential-vault/config.json", "The settings. To see them: vault config get"),
                (Settings.machineFile, "The settings of all users of this machine. Only root may write it."),
                ("/etc/credential-vault/policy.json", "The policy of this machine. Only root may write it."),
                ("$XDG_RUNTIME_DIR/credential-vault/", "The socket of the agent."),
            ]),
        ManualPage.Section("See also", [("vault-key-service(8)", "The server that keeps the keys of accounts.")]),
    ]
}
