internal import CredentialVault

// The command that lets a person use an account again.
extension Vault {
    /// The sentence after a lock or a log-out. If no refresh token is stored, if this machine was revoked, or if
    /// everything is locked, `vault login` cannot work.
    func wayBack(to account: Account, _ settings: Settings) async -> String {
        let hasToken = try? await storage.hasItem(.refreshToken, of: account.id)
        let slots = (try? await storage.keyslotSummaries(of: account.id)) ?? []
        guard hasToken == false || slots.areRevoked else {
            if let state = await LockedOut.known(of: account, in: self) { return await state.wayBack() }
            return "To log in again: vault login \(await storage.userOption(of: account.id))"
        }
        return account.signInAdvice(settings)
    }
}

extension Account {
    /// The sentence with the command that signs in to the account again. The command is short if the settings are those
    /// of the account.
    func signInAdvice(_ settings: Settings) -> String {
        registerCommand(settings).map { "To register again: \($0)" }
            ?? "Sign in again with the app that made the account"
    }
}
