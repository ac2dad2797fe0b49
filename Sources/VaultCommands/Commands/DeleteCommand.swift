internal import ArgumentParser
internal import CredentialVault

struct DeleteCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an account with all that is stored of it.",
        discussion: """
            With the password, or another way in that is named, the refresh token is also revoked at the identity \
            provider; without it the account is deleted all the same. The account's keys are ended at the key service, so that \
            a copy of the store opens nothing any more.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Flag(help: "Do not ask whether to delete, nor for a password.")
    var yes = false

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let name = Printable.text(account.displayName)
        if !yes {
            guard terminal.isInteractive else {
                throw VaultError(
                    .configurationInvalid, "There is no terminal to ask. Use --yes to delete without asking.")
            }
            guard try await terminal.confirm("Delete \(name) (\(account.id)) and all that is stored of it?") else {
                throw VaultError(.cancelled, "Nothing was deleted.")
            }
        }
        try await AgentSessions(Settings(global)).forget(account.id)
        let (isDeleted, notRevoked) = try await revokeAndDelete(account, vault, terminal)
        if !isDeleted { try await vault.accounts.delete(account.id) }
        if global.json {
            return Output.json(Report(deleted: true, revoked: notRevoked == nil, reason: notRevoked))
        }
        Output.line("Deleted \(name).")
        if let notRevoked {
            Output.note("vault: the refresh token was not revoked at the identity provider: \(notRevoked)")
        }
    }

    /// - Returns: whether the account is deleted, and nil when the refresh token was revoked, or why not.
    private func revokeAndDelete(
        _ account: Account, _ vault: Vault, _ terminal: any Terminal
    ) async throws -> (isDeleted: Bool, notRevoked: String?) {
        // Whoever logged out everywhere has nothing left to revoke.
        let hasToken = try? await vault.accounts.store.item(.refreshToken, of: account.id) != nil
        guard hasToken != false else { return (false, nil) }
        guard unlock.isNamed || unlock.password.isGiven || !yes else { return (false, "no password was given.") }
        do {
            let method: UnlockMethod
            if unlock.isNamed || account.passwordKeyslot == nil {
                method = try await unlock.reusableMethod(for: account, terminal)
            } else {
                let name = Printable.text(account.displayName)
                let prompt = "Password of \(name), to revoke its token (empty to go without): "
                let secret = SharedSecret(try await unlock.password.source.password(prompt, terminal))
                guard secret.bytes.count > 0 else { return (false, "no password was given.") }
                method = .password(secret)
            }
            return try await Spinner.during("Revoking", isQuiet: global.json) {
                try await vault.auth.unlock(account.id, with: method)
                return (true, try await vault.auth.deleteAccount()?.description)
            }
        } catch let error as VaultError where error.code == .wrongSecret && !yes {
            throw error  // a slip of the finger: nothing is deleted yet
        } catch let error as VaultError {
            return (false, error.description)
        }
    }

    private struct Report: Encodable {
        let deleted: Bool
        let revoked: Bool
        let reason: String?
    }
}
