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
        let (list, name, rest) = await listed(accounts, in: storage)
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

    /// The error for a name that no account here has.
    static func unknown(_ name: String, _ accounts: [Account], in storage: any StorageProtocol) async -> VaultError {
        let (list, _, _) = await listed(accounts, in: storage)
        return VaultError(
            .accountNotFound,
            "There is no account \"\(Printable.text(name))\" here, so nothing was changed. Accounts: \(list).",
            detail: .told)
    }

    /// The names of the first accounts.
    private static func listed(
        _ accounts: [Account], in storage: any StorageProtocol
    ) async -> (text: String, first: String, rest: Int) {
        var names: [String] = []
        for account in accounts.prefix(namedAccounts) {
            let name = try? await storage.uniqueName(of: account.id)
            names.append(Printable.text(name ?? account.id.subject))
        }
        let rest = accounts.count - names.count
        return (names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : ""), names.first ?? "", rest)
    }
}
