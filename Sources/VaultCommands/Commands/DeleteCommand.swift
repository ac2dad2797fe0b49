internal import ArgumentParser
internal import CredentialVault

struct DeleteCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an account, its tokens and its items.",
        discussion: """
            To revoke the refresh token at the identity provider, vault asks for the PIN, the password or hardware, as \
            "vault login" does. If you give none, vault deletes the account without a revocation, and says what stays \
            valid. If a session is open, vault uses it to revoke the token, and asks for a secret only to end the keys \
            of hardware and of recovery codes. With --yes alone, vault asks for no secret, and revokes the token only if a \
            session is open. If the identity provider does not answer, or if all unlock methods are locked, vault says so \
            before it asks.

            Ctrl-C, Ctrl-D and Cancel at a question change nothing. Without --yes, nothing changes either if the \
            password is wrong, or if the file or the unlock method that you named cannot be used. Once the revocation \
            has begun, Ctrl-C does not call it back: the account may stay without its refresh token.

            vault also ends the account's keys at the key service. An old copy of the store then opens only without \
            the network, if that was allowed. If the key service does not answer, vault says so before it asks \
            whether to delete the account, and with --yes afterwards. If no secret opened the account, the keys of \
            hardware and of recovery codes stay. vault names each of them, and the command with which the operator of \
            the key service revokes it. Write these commands down, because vault does not show them again. vault keeps \
            a list of the other keys, and ends them at the next login or registration with this key service, or with: \
            vault doctor
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Flag(help: "Delete without asking, also without asking for a password.")
    var yes = false

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let name = Printable.text(account.displayName)
        let settings = try await Settings(global)
        // A session of the agent can revoke the token, so nobody is asked for a secret.
        let mayAttach = !unlock.isNamed && !unlock.password.isGiven && !unlock.agent.noAgent
        let isOpen = mayAttach ? try await AgentSessions(settings).holding(account.id) != nil : false
        var outage: VaultError?
        if !yes {
            guard terminal.isInteractive else {
                throw VaultError(
                    .configurationInvalid, "There is no terminal to ask. Use --yes to delete without asking.")
            }
            do {
                outage = try await tellWhatStays(account, isOpen: isOpen, vault, terminal)
                guard try await terminal.confirm("Delete \(name) (\(account.id)) and all its items?") else {
                    throw Self.cancelled
                }
            } catch let error as VaultError where error.code == .cancelled {
                throw Self.cancelled
            }
        }
        // After the deletion, such a setting would stop every later command, or name somebody else.
        let isOfSetting = await account.isNamedBySetting(in: vault)
        let uniqueName = try? await vault.storage.uniqueName(of: account.id)
        let opening = try await open(account, isOpen: isOpen, outage, vault, terminal)
        // Only now: a person who stops at the password keeps the session and the access token.
        try? await vault.auth.removeAccessToken(of: account.id)
        try await AgentSessions(settings).forget(account.id)
        let notRevoked = try await delete(account.id, vault, opening)
        await Hardware(settings).forgetEnded(of: account, in: vault)
        let isUnset = isOfSetting && (try? Settings.write([.user: nil])) != nil
        let gitHosts = await gitHosts(of: account, uniqueName, vault)
        if global.json {
            return Output.json(
                Report(
                    deleted: true, revoked: notRevoked == nil, reason: notRevoked,
                    gitHosts: gitHosts.isEmpty ? nil : gitHosts, removedSetting: isUnset ? "user" : nil))
        }
        Output.line("Deleted \(name).")
        if isUnset { Output.note("Removed the setting user, because it named \(name).") }
        if let notRevoked {
            Output.note("vault: the refresh token was not revoked at the identity provider: \(notRevoked)")
            RemainingAccess.tell(of: account)
        }
        for host in gitHosts.map(Printable.text) {
            Output.note(
                """
                vault: git still asks vault for the token of \(name) at \(host). To stop that: \
                vault helper uninstall git --host \(host)
                """
            )
        }
    }

    /// The servers for which git still asks for the token of the deleted account.
    private func gitHosts(of account: Account, _ uniqueName: String?, _ vault: Vault) async -> [String] {
        func names(_ account: Account) -> [String] {
            [account.alias, account.id.subject, account.email, account.preferredUsername].compactMap(\.self)
        }
        // A name that another account has, too, now means that account.
        let others = (try? await vault.storage.all()) ?? []
        let own = Set(names(account) + [uniqueName].compactMap(\.self))
        return GitSetting.hosts(
            ofUsers: own.subtracting(others.flatMap(names)),
            or: own.subtracting(others.filter { $0.id.issuer == account.id.issuer }.flatMap(names)),
            at: account.id.issuer)
    }

    /// What can be done about the refresh token before the account is deleted.
    private enum Opening {
        /// The person opened the account, so the provider can be asked to revoke the token.
        case opened
        /// The account is deleted without being opened. The reason says why its token is not revoked; nil if no token
        /// is left to revoke.
        case unopened(reason: String?)
    }

    /// Opens the account for what needs a secret: to revoke its refresh token if no session is open, or else to end
    /// keys that only an opened account can end. Changes nothing, except with an open session.
    ///
    /// - Parameters:
    ///   - isOpen: whether an open session can revoke the token.
    ///   - outage: why the identity provider cannot revoke it now; nil if it is not known to be down.
    private func open(
        _ account: Account, isOpen: Bool, _ outage: VaultError?, _ vault: Vault, _ terminal: any Terminal
    ) async throws -> Opening {
        // After a logout everywhere there is no token to revoke.
        let hasToken = try? await vault.storage.hasItem(.refreshToken, of: account.id)
        guard hasToken != false else { return .unopened(reason: nil) }
        let isGiven = unlock.isNamed || unlock.password.isGiven
        let (revokes, kinds) = (isGiven || !isOpen && outage == nil, Self.needingSecret(of: account))
        /// Does what needs no secret.
        func withoutSecret(_ reason: String) async throws -> Opening {
            if isOpen { return try await revokeInAgent(account, vault) }
            return .unopened(reason: outage?.fact ?? reason)
        }
        guard isGiven || !yes else { return try await revokeInAgent(account, vault) }
        guard revokes || !kinds.isEmpty else { return try await withoutSecret("no password was given.") }
        let keys =
            "to end the \(kinds.count == 1 ? "key" : "keys") of the \(kinds.map(\.displayName).listed("and the"))"
        let purpose =
            revokes ? ("to revoke its token", "do not revoke") : (keys, kinds.count == 1 ? "leave it" : "leave them")
        func open(_ method: UnlockMethod) async throws -> Opening {
            try await Spinner.during("Opening the account", isQuiet: global.json) {
                try await vault.auth.unlock(account.id, with: method)
                return .opened
            }
        }
        do {
            return try await unlock.methods(for: account, in: vault, terminal, fallsBack: true, global)
                .opening(purpose: purpose, open)
        } catch is SkippedMethod {
            return try await withoutSecret("no password was given.")
        } catch let error as VaultError where error.code == .cancelled {
            throw Self.cancelled
        } catch let error as VaultError
            where [.wrongSecret, .tooManyAttempts, .lastGuess].contains(error.code) && !yes
        {
            // The person wants to give a secret, and can type the command again.
            throw Self.kept(error)
        } catch let error as VaultError where isSlip(error) {
            throw Self.kept(error, "To delete it without a revocation, add --yes")
        } catch let error as VaultError {
            return try await withoutSecret(error.fact)
        }
    }

    /// Revokes the refresh token with the open session, so that nobody is asked for a secret. The account itself stays
    /// unopened, because the agent does not give its vault key to this process.
    private func revokeInAgent(_ account: Account, _ vault: Vault) async throws -> Opening {
        do {
            guard try await unlock.attached(to: account, in: vault) != nil else {
                return .unopened(reason: "no password was given, and no session is open.")
            }
            return try await Spinner.during("Revoking", isQuiet: global.json) {
                .unopened(reason: try await vault.auth.logoutEverywhere()?.fact)
            }
        } catch let error as VaultError {
            if error.code == .cancelled { throw Self.kept(error) }
            return .unopened(reason: error.fact)
        }
    }

    /// Whether an option that the person gave for the revocation cannot work. After the deletion, nobody can revoke the
    /// token any more.
    private func isSlip(_ error: VaultError) -> Bool {
        let slips: [VaultError.Code] = [
            .configurationInvalid, .notEnrolled, .passwordUnusable, .hardwareMissing, .keyLocked,
        ]
        return !yes && (unlock.isNamed || unlock.password.isGiven) && slips.contains(error.code)
    }

    /// - Returns: why the refresh token was not revoked. Nil if the provider revoked it, or if none is stored.
    private func delete(_ id: AccountID, _ vault: Vault, _ opening: Opening) async throws -> String? {
        let reason: String?
        switch opening {
        case .opened:
            do {
                return try await Spinner.during("Revoking", isQuiet: global.json) {
                    try await vault.auth.deleteAccount()?.fact
                }
            } catch let error as VaultError where error.code == .cancelled {
                throw Self.kept(error)
            } catch let error as VaultError {
                reason = error.fact
            }
        case .unopened(let why): reason = why
        }
        do {
            try await vault.storage.delete(id, revokingWith: nil)
        } catch let error as VaultError where error.code == .accountNotFound {
            // Another program deleted the account meanwhile.
        }
        return reason
    }

    private static var cancelled: VaultError { VaultError(.cancelled, "Nothing was deleted.") }

    private static func kept(_ error: VaultError, _ advice: String? = nil) -> VaultError {
        error.saying("\(error.sentences) The account was not deleted." + (advice.map { " \($0)" } ?? ""))
    }

    private struct Report: Encodable {
        let deleted: Bool
        let revoked: Bool
        let reason: String?
        /// The servers for which git still asks for the token of this account; nil for none.
        let gitHosts: [String]?
        /// The setting that named this account; nil for none.
        let removedSetting: String?
    }
}
