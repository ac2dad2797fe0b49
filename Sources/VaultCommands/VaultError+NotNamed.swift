internal import CredentialVault

extension VaultError {
    /// The most accounts that the error names. More would hide what to type.
    private static let namedAccounts = 5

    /// The error of a command that names none of several accounts.
    ///
    /// - Parameter advice: what the person can type, with the option that names an account; nil for the usual advice.
    static func notNamed(
        _ accounts: [Account], in storage: any StorageProtocol, advice: ((String) -> String)?
    ) async -> VaultError {
        var names: [String] = []
        for account in accounts.prefix(namedAccounts) {
            let name = try? await storage.uniqueName(of: account.id)
            names.append(Printable.text(name ?? account.id.subject))
        }
        let rest = accounts.count - names.count
        let list = names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        let name = names.first ?? ""
        let example = ShellQuoting.userOption(name)
        let value = (name.hasPrefix("-") ? "-- " : "") + ShellQuoting.quoted(name)
        let choice =
            advice?(example)
            ?? "Choose one: \(example). To choose one for all commands: vault config set user \(value)"
        let others = rest > 0 ? ". To see all: vault users" : ""
        return VaultError(
            .accountAmbiguous, "There are \(accounts.count) accounts here: \(list). \(choice)\(others)", detail: .told,
            accounts: accounts.map(\.id))
    }
}
