internal import CredentialVault

/// A recovery code that was made and does not count yet: first it has to be shown.
struct NewRecoveryCode {
    let text: String
    private let slot: Keyslot
    private let account: Account
    private let vaultKey: VaultKey
    private let accounts: Accounts

    init(for account: Account, vaultKey: VaultKey, in accounts: Accounts, isQuiet: Bool) async throws {
        self.account = account
        self.vaultKey = vaultKey
        self.accounts = accounts
        let (code, slot) = try await Spinner.during("Making a recovery code", isQuiet: isQuiet) {
            try await accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        }
        self.slot = slot
        text = code.bytes.utf8String() ?? ""
    }

    /// Makes one after something that was done already: a failure must not hide that, and is thrown when it was reported.
    static func made(
        for account: Account, vaultKey: VaultKey, in accounts: Accounts, isQuiet: Bool
    ) async -> Result<NewRecoveryCode, VaultError> {
        do {
            return .success(try await NewRecoveryCode(for: account, vaultKey: vaultKey, in: accounts, isQuiet: isQuiet))
        } catch {
            return .failure(
                Self.explained(
                    error,
                    "No new recovery code was made; one that there is still works. See: vault unlock add recovery"))
        }
    }

    /// Shows it to a person, and then puts it into the old one's place.
    func showAndAdd() async throws {
        Output.note("Recovery code. Write it down now: it is not shown again, and works once.")
        do {
            try Output.importantLine(text)
        } catch {
            await accounts.discard(slot, of: account)
            throw error
        }
        try await add()
    }

    /// Puts it into the old one's place. It has to be shown by then.
    func add() async throws {
        do {
            try await accounts.add(slot, to: account, vaultKey: vaultKey)
        } catch {
            await accounts.discard(slot, of: account)
            throw Self.explained(
                error, "The recovery code that was just shown does not count; one that there was before still works.")
        }
    }

    private static func explained(_ error: any Error, _ state: String) -> VaultError {
        let converted = VaultError.converting(error) as? VaultError
        return VaultError(
            converted?.code ?? .storeUnreadable, "\(converted?.description ?? "\(error)") \(state)",
            retryAfter: converted?.retryAfter, underlying: error)
    }
}
