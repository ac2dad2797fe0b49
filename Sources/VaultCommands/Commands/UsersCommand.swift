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
        Output.table(Self.table(accounts))
    }

    static func table(_ accounts: [Account]) -> Table {
        // A column for each claim that an account shows.
        let claims = Set(accounts.flatMap(\.displayClaims.keys)).sorted()
        let rows =
            [["USER"] + claims.map { Printable.text($0.uppercased()) } + ["E-MAIL", "METHOD", "SUBJECT", "ISSUER"]]
            + accounts.map { account in
                ([account.displayName] + claims.map { account.displayClaims[$0] ?? "-" }
                    + [account.email ?? "-", account.method.rawValue, account.id.subject, account.id.issuer])
                    .map(Printable.text)
            }
        return Table(rows: rows)
    }
}
