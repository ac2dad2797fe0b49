internal import CredentialVault

/// A new recovery code: shown first, and only then put into the old one's place.
enum NewRecoveryCode {
    /// - Returns: the code, which was printed already unless it goes out as JSON.
    static func make(
        for account: Account, vaultKey: VaultKey, in vault: Vault, isQuiet: Bool
    ) async throws -> String {
        let accounts = vault.storage.accounts
        let (code, slot) = try await Spinner.during("Making a recovery code", isQuiet: isQuiet) {
            try await accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        }
        let text = code.bytes.utf8String() ?? ""
        if !isQuiet {
            Output.note("Recovery code. Write it down now: it is not shown again, and works once.")
            Output.line(text)
        }
        try await accounts.add(slot, to: account, vaultKey: vaultKey)
        return text
    }
}
