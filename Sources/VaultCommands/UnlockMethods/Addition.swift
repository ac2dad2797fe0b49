internal import CredentialVault

extension MethodKind {
    /// How `vault unlock add` adds an unlock method.
    struct Addition: Sendable {
        /// An option of `vault unlock add` that some methods take.
        enum Option: Sendable { case newPINFile, which, makeKey, label, opensOffline }

        /// The options that the method takes.
        var options: Set<Option> = []
        /// Checks and asks before the account is opened.
        var prepare: @Sendable (AddRequest) async throws -> Void = { _ in }
        /// Adds the method to an open account.
        let add: @Sendable (AddRequest, OpenedForAdding) async throws -> Added
    }

    /// The request of the person.
    struct AddRequest: Sendable {
        let method: MethodKind
        let options: UnlockCommand.Add
        let account: Account
        let vault: Vault
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
        /// Adds the method.
        let accounts: Accounts
    }

    /// The result of an addition.
    struct Added: Sendable {
        /// A message for the person.
        var text: String?
        /// A recovery code. It becomes valid when the person has seen it.
        var code: NewRecoveryCode?
        /// A hint for the person, after everything else.
        var hint: String?
    }
}
