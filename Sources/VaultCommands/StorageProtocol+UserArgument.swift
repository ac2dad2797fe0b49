internal import CredentialVault

extension StorageProtocol {
    /// Returns the name of an account for `--user` in a command that the person may type, quoted for the shell. The
    /// usual name or the subject may be another account's alias. The command would then work on that account.
    func userArgument(of account: AccountID) async -> String {
        let name = try? await uniqueName(of: account)
        return ShellQuoting.quoted(Printable.text(name ?? account.subject))
    }
}
