internal import ArgumentParser
internal import Foundation
internal import VaultManual

struct Manual: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the man page of vault-key-service, or of one command.",
        discussion: """
              vault-key-service manual
              vault-key-service manual keys list

            If the output is not a terminal, the command prints the source of the page.
            """)

    @Argument(help: "The command, such as: keys list")
    var command: [String] = []

    func run() async throws {
        try await Failure.reporting { try printPage() }
    }

    private func printPage() throws {
        let page = try ManualPage(
            of: VaultKeyService.self, section: 8,
            date: ManualPage.date(environment: ProcessInfo.processInfo.environment), statuses: Failure.statuses,
            sections: Self.sections)
        guard let text = page.text(of: command) else {
            throw ValidationError(
                "There is no command \"\(command.joined(separator: " "))\". See: vault-key-service --help")
        }
        ManualPager.show(text)
        Output.result(text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }

    private static let sections = [
        ManualPage.Section(
            "Environment",
            (["config"] + SettingName.all.map(\.name)).map {
                (SettingName.variable(of: $0), "As \(SettingName.option(of: $0)).")
            } + [("CREDENTIALS_DIRECTORY", "The folder of systemd with master.key and old-master.key.")]),
        ManualPage.Section(
            "Files",
            [
                ("keys.sqlite", "In the data folder: the database."),
                ("master.key", "In the folder DIR-secrets: the master key. Without this file, no key opens."),
                ("high-water-mark", "In the folder DIR-secrets: it shows if somebody put back an older database."),
            ]),
        ManualPage.Section("See also", [("vault(1)", "The command that uses the service.")]),
    ]
}
