internal import CredentialVault

/// A new recovery code, which is not valid before it was shown.
struct NewRecoveryCode {
    let text: String
    private let slot: Keyslot
    private let account: Account
    private let vaultKey: VaultKey
    private let accounts: Accounts

    init(for account: Account, vaultKey: VaultKey, in vault: Vault, isQuiet: Bool) async throws {
        let accounts = try vault.accounts
        self.account = account
        self.vaultKey = vaultKey
        self.accounts = accounts
        let (code, slot) = try await Spinner.during("Making a recovery code", isQuiet: isQuiet) {
            try await accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        }
        self.slot = slot
        text = code.bytes.utf8String() ?? ""
    }

    /// Makes a code after another change. A failure is not thrown, so that the command can report the change first.
    static func made(
        for account: Account, vaultKey: VaultKey, in vault: Vault, isQuiet: Bool
    ) async -> Result<NewRecoveryCode, VaultError> {
        do {
            return .success(try await NewRecoveryCode(for: account, vaultKey: vaultKey, in: vault, isQuiet: isQuiet))
        } catch {
            return .failure(
                Self.explained(
                    error,
                    "No new recovery code was made. An old one still works. To try again: \(Proposed.command("unlock add recovery"))"
                ))
        }
    }

    /// Shows the code to a person, and then replaces the old code.
    func showAndAdd() async throws {
        Output.note("Recovery code. Write it down now. It is not shown again, and works only once.")
        do {
            try Output.importantLine(text)
        } catch {
            await accounts.discard(slot, of: account, vaultKey)
            throw error
        }
        try await add()
    }

    /// Replaces the old code. The new code must be shown first.
    func add() async throws {
        do {
            try await accounts.add(slot, to: account, vaultKey: vaultKey)
        } catch {
            await accounts.discard(slot, of: account, vaultKey)
            throw Self.explained(
                error, "The recovery code that was just shown is not valid. An old one still works.")
        }
    }

    private static func explained(_ error: any Error, _ state: String) -> VaultError {
        let converted =
            VaultError.converting(error) as? VaultError ?? VaultError(.storeUnreadable, "\(error)", underlying: error)
        return converted.saying("\(converted.sentences) \(state)")
    }
}
