internal import CredentialVault

extension VaultError {
    /// The most accounts that the error names. More would hide what to type.
    private static let namedAccounts = 5

    /// The error of a command that names none of several accounts.
    static func notNamed(_ accounts: [Account], in storage: any StorageProtocol) async -> VaultError {
        var names: [String] = []
        for account in accounts.prefix(namedAccounts) {
            let name = try? await storage.uniqueName(of: account.id)
            names.append(Printable.text(name ?? account.id.subject))
        }
        let rest = accounts.count - names.count
        let list = names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        let example = ShellQuoting.quoted(names.first ?? "")
        let end = rest > 0 ? ". To see them: vault users" : ""
        return VaultError(
            .accountAmbiguous,
            "There are \(accounts.count) accounts here: \(list). Choose one: --user \(example)\(end)", detail: .told,
            accounts: accounts.map(\.id))
    }
}
