internal import CredentialVault

extension StorageProtocol {
    /// Returns the option that names an account, in a command that the person may type. The usual name or the subject
    /// may be another account's alias. The command would then work on that account.
    func userOption(of account: AccountID) async -> String {
        let name = try? await uniqueName(of: account)
        return ShellQuoting.userOption(name ?? account.subject)
    }
}

extension ShellQuoting {
    /// Returns the option that names an account. A name that begins with `-` would count as an option itself.
    static func userOption(_ name: String) -> String {
        let word = quoted(Printable.text(name))
        return name.hasPrefix("-") ? "--user=\(word)" : "--user \(word)"
    }
}

extension Account {
    /// Whether the setting `user` in the person's file names this account.
    func isNamedBySetting(in vault: Vault) async -> Bool {
        guard let name = try? Settings.stored(.user), !name.isEmpty else { return false }
        return (try? await UserOption.account(name, in: vault))?.id == id
    }
}
