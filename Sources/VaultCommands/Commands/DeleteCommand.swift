internal import ArgumentParser
internal import CredentialVault

struct DeleteCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an account, its tokens and its items.",
        discussion: """
            vault asks for the password, to revoke the refresh token at the identity provider. You can name another \
            unlock method (such as --pin). Without a password, vault deletes the account but does not revoke the token.

            vault also ends the account's keys at the key service. An old copy of the store then opens only without \
            the network, if that was allowed.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Flag(help: "Delete without asking, also without asking for a password.")
    var yes = false

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await global.openVault()
        let account = try await user.account(in: vault, countsOpen: false)
        let name = Printable.text(account.displayName)
        if !yes {
            guard terminal.isInteractive else {
                throw VaultError(
                    .configurationInvalid, "There is no terminal to ask. Use --yes to delete without asking.")
            }
            guard try await terminal.confirm("Delete \(name) (\(account.id)) and all its items?") else {
                throw VaultError(.cancelled, "Nothing was deleted.")
            }
        }
        // Before anybody is asked: the agent or a server may not answer.
        try? await vault.auth.removeAccessToken(of: account.id)
        try await AgentSessions(Settings(global)).forget(account.id)
        let (isDeleted, notRevoked) = try await revokeAndDelete(account, vault, terminal)
        if !isDeleted { try await delete(account.id, vault) }
        await Hardware(try await Settings(global)).forgetEnded(of: account, in: vault)
        if global.json {
            return Output.json(Report(deleted: true, revoked: notRevoked == nil, reason: notRevoked))
        }
        Output.line("Deleted \(name).")
        if let notRevoked {
            Output.note("vault: the refresh token was not revoked at the identity provider: \(notRevoked)")
        }
    }

    /// - Returns: whether the account is deleted, and why the refresh token was not revoked. The reason is nil if the
    ///   provider revoked it, or if none is stored.
    private func revokeAndDelete(
        _ account: Account, _ vault: Vault, _ terminal: any Terminal
    ) async throws -> (isDeleted: Bool, notRevoked: String?) {
        // After a logout everywhere there is no token to revoke.
        let hasToken = try? await vault.storage.hasItem(.refreshToken, of: account.id)
        guard hasToken != false else { return (false, nil) }
        guard unlock.isNamed || unlock.password.isGiven || !yes else { return (false, "no password was given.") }
        func revoke(_ method: UnlockMethod) async throws -> (isDeleted: Bool, notRevoked: String?) {
            try await Spinner.during("Revoking", isQuiet: global.json) {
                try await vault.auth.unlock(account.id, with: method)
                return (true, try await vault.auth.deleteAccount()?.text)
            }
        }
        do {
            let usesPassword = !unlock.isNamed && account.passwordKeyslot != nil
            let kind = try usesPassword ? Keyslot.Kind.password : unlock.kind(for: account, isReusable: true)
            try await unlock.requireUseful(
                kind, of: account, in: vault, terminal, fallsBack: true, isQuiet: global.json)
            guard usesPassword else {
                return try await unlock.asking(for: kind, of: account, in: vault, terminal, revoke)
            }
            try await unlock.tellState(of: kind, in: account, vault, terminal)
            while true {
                let name = Printable.text(account.displayName)
                let prompt = "Password of \(name), to revoke its token (empty: do not revoke): "
                let secret = SharedSecret(try await unlock.password.source.password(prompt, terminal))
                guard secret.bytes.count > 0 else { return (false, "no password was given.") }
                let method = UnlockMethod.password(secret)
                do {
                    return try await revoke(method)
                } catch let error as VaultError where unlock.mayAskAgain(after: error, method, terminal) {
                    terminal.tell("vault: \(error.description)")
                }
            }
        } catch let error as VaultError where error.code == .wrongSecret && !yes {
            throw error  // A typing error must not delete the account.
        } catch let error as VaultError {
            return (false, error.text)
        }
    }

    private func delete(_ id: AccountID, _ vault: Vault) async throws {
        do {
            try await vault.storage.delete(id, revokingWith: nil)
        } catch let error as VaultError where error.code == .accountNotFound {
            // Another program deleted the account meanwhile.
        }
    }

    private struct Report: Encodable {
        let deleted: Bool
        let revoked: Bool
        let reason: String?
    }
}
