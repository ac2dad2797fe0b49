internal import CredentialVault

extension Way {
    /// How `vault unlock add` adds a way into an account.
    struct Addition: Sendable {
        /// An option of `vault unlock add` that some ways take.
        enum Option: Sendable { case newPINFile, which, makeKey, label, opensOffline }

        /// The options that it takes.
        var options: Set<Option> = []
        /// What can be checked or asked before the account is opened.
        var prepare: @Sendable (AddRequest) async throws -> Void = { _ in }
        /// Adds it to an account that is open.
        let add: @Sendable (AddRequest, OpenedForAdding) async throws -> Added
    }

    /// What the person asked for.
    struct AddRequest: Sendable {
        let way: Way
        let options: UnlockCommand.Add
        let account: Account
        let accounts: Accounts
        let hardware: Hardware
        let terminal: any Terminal

        /// The account's name, for a person.
        var name: String { Printable.text(account.displayName) }
    }

    /// The account, after the person has opened it.
    struct OpenedForAdding: Sendable {
        /// The password, if it opened the account.
        let password: SharedSecret?
        let vaultKey: VaultKey
        /// The agent's session; nil when the account was opened in this process.
        var session: Session?
    }

    /// What came of it.
    struct Added: Sendable {
        /// For the person.
        var text: String?
        /// A recovery code that counts when the person has seen it.
        var code: NewRecoveryCode?
        /// A hint for the person, after everything else.
        var hint: String?
    }
}
