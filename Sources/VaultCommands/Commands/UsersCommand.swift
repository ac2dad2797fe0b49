internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct UsersCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List the accounts on this machine.")

    @OptionGroup var global: GlobalOptions

    func run() async throws { try await Self.list(global) }

    /// Prints the accounts. `vault users` without an option begins here.
    static func list(_ global: GlobalOptions? = nil) async throws {
        let accounts = try await GlobalOptions.openVault(global).storage.all()
        if global?.json == true { return Output.json(accounts.map(AccountReport.init)) }
        guard !accounts.isEmpty else {
            return Output.note("No accounts here yet. \(try await Settings(global).firstCommand)")
        }
        Output.table(table(accounts))
    }

    static func table(_ accounts: [Account]) -> Table {
        // A column for each claim that an account shows.
        let claims = Set(accounts.flatMap(\.displayClaims.keys)).sorted()
        // A column for the refusals, if there is one.
        let showsRefusals = accounts.contains { $0.refusedAt != nil }
        var titles = ["USER"] + claims.map { $0.uppercased() } + ["E-MAIL", "METHOD"]
        if showsRefusals { titles.append("REFUSED AT") }
        titles += ["SUBJECT", "ISSUER"]
        var rows = [titles.map(Printable.text)]
        for account in accounts {
            var row = [account.displayName] + claims.map { account.displayClaims[$0] ?? "-" }
            row += [account.email ?? "-", account.method.rawValue]
            if showsRefusals { row.append(account.refusedAt?.localText ?? "-") }
            row += [account.id.subject, account.id.issuer]
            rows.append(row.map(Printable.text))
        }
        return Table(rows: rows)
    }
}
