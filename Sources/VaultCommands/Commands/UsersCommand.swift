internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct UsersCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List the accounts on this machine.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let accounts = try await global.openVault().storage.all()
        if global.json { return Output.json(accounts.map(AccountReport.init)) }
        guard !accounts.isEmpty else { return Output.note("No accounts here yet. Register one: vault register") }
        for line in Self.table(accounts) { Output.line(line) }
    }

    /// The lines of the table.
    static func table(_ accounts: [Account]) -> [String] {
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
            if showsRefusals { row.append(account.refusedAt?.formatted(.iso8601) ?? "-") }
            row += [account.id.subject, account.id.issuer]
            rows.append(row.map(Printable.text))
        }
        let widths = titles.indices.dropLast().map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0.padded(to: $1) }
            return (cells + [row[row.count - 1]]).joined(separator: "  ")
        }
    }
}

extension String {
    /// The text, filled with spaces up to `width` characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
