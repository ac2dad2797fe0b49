internal import ArgumentParser
internal import CredentialVault

struct UsersCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List the accounts on this machine.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let accounts = try await global.openVault().storage.all()
        if global.json { return Output.json(accounts.map(AccountReport.init)) }
        guard !accounts.isEmpty else { return Output.note("No accounts here yet. Register one: vault register") }
        let rows =
            [["USER", "E-MAIL", "METHOD", "SUBJECT", "ISSUER"]]
            + accounts.map {
                [$0.displayName, $0.email ?? "-", $0.method.rawValue, $0.id.subject, $0.id.issuer].map(Printable.text)
            }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        for row in rows {
            let cells = zip(row, widths).map { $0.padded(to: $1) }
            Output.line((cells + [row[4]]).joined(separator: "  "))
        }
    }
}

extension String {
    /// The text with spaces behind it, up to `width` characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
