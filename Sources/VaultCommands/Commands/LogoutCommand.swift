internal import ArgumentParser
internal import CredentialVault

struct LogoutCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Log out of an account on this machine, or also at the identity provider.",
        discussion: """
            vault ends the session and removes the stored access token. The sealed refresh token stays. To log in \
            again: vault login

            With --everywhere, the identity provider also revokes the refresh token of this machine. Other machines \
            stay logged in, unless the provider ends their logins, too. To use the account again: vault register

            If the provider cannot be reached (exit status 69) or offers no revocation (exit status 78), the token \
            stays stored. With --forget, vault deletes the tokens here all the same, and says that the provider did \
            not revoke the refresh token. The unlock methods and the items stay.

            --everywhere and --browser use the open session, or open the account first. If that fails, nothing is \
            closed. With --forget, vault then deletes the tokens, for example if the key service cannot be reached or \
            the key is locked. The tokens stay if you can try again: after a wrong password or PIN, an unlock method \
            that the account does not have, a password file that cannot be read, missing hardware, Ctrl-C, or \
            without a terminal to ask (exit status 75, 77, 78, 82 or 84).

            If no refresh token is stored, --everywhere asks for no secret. vault logs out on this machine, and says \
            that there is nothing to revoke (exit status 83; 0 with --forget).

            If all unlock methods are locked, vault login does not open the account again. At a terminal, vault then \
            asks before it closes an open session, and before --forget deletes the tokens.

            A backend is told of a logout without --everywhere only if its backend file has a path for that and you \
            name an unlock method (such as --pin).
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var consent: ClosingOptions
    @OptionGroup var global: GlobalOptions

    @Flag(help: "Also revoke this machine's refresh token at the identity provider.")
    var everywhere = false

    @Flag(help: "With --everywhere: delete the tokens here, also if the provider does not revoke them.")
    var forget = false

    @Flag(help: "Also end the session at the identity provider, in the browser.")
    var browser = false

    @Flag(name: .customLong("no-browser"), help: "With --browser: print the address, and do not open it.")
    var noBrowser = false

    func validate() throws {
        if forget && !everywhere { throw ValidationError("--forget needs --everywhere.") }
        if noBrowser && !browser { throw ValidationError("--no-browser needs --browser.") }
    }

    func run() async throws {
        let (vault, problem) = try await global.openVaultToClose()
        let account = try await user.account(in: vault, countsOpen: !everywhere, advice: adviceIfSeveral)
        let name = Printable.text(account.displayName)
        let settings = try await Settings(global, toClose: true)
        let agent = try AgentSessions(settings)
        let hasToken = try? await vault.storage.hasItem(.refreshToken, of: account.id)
        try await LockedOut.requireConsent(
            toClose: [account.id], in: vault, open: { (try? await agent.openBeforeLock().get()) ?? [] },
            deletesTokens: forget && hasToken == true, { "Log out of \($0) anyway?" }, saysYes: consent.yes,
            global)
        // Before anybody is asked for a secret: the agent or a server may not answer. An error must not keep the session
        // open.
        let token = try? await vault.ownAuth.takeAccessToken(of: account.id)
        guard everywhere || browser else {
            let hanging = try await agent.failureToForget(account.id)
            let failure = try await logOutHere(account, vault, problem, telling: token)
            let told = failure.map { "The backend was not told: \($0.sentences)" } ?? "The backend was told."
            if let hanging { throw Self.leftOpen(hanging, account, account.tellsLogout ? told : nil) }
            let next = global.json ? "" : await vault.wayBack(to: account, settings)
            report("Logged out \(name). \(next)", revoked: nil, reason: failure?.text)
            if let failure, !global.json {
                Output.note("vault: the backend was not told: \(failure.text)")
            }
            return
        }
        if let problem {
            if forget { return try await forgetTokens(of: account, vault, agent, after: problem) }
            try await agent.forget(account.id)
            try await vault.auth.removeAccessToken(of: account.id)
            throw problem
        }
        // Before anybody is asked for a secret.
        if everywhere, try await !vault.storage.hasItem(.refreshToken, of: account.id) {
            return try await logOutWithoutToken(account, vault, agent, settings)
        }
        let isAttached: Bool
        do {
            isAttached = try await unlock.attached(to: account, in: vault) != nil
        } catch let error as VaultError where forgets(after: error) {
            return try await forgetTokens(of: account, vault, agent, after: error)
        }
        if !isAttached, let failure = try await failureToOpen(account, in: vault) {
            return try await forgetTokens(of: account, vault, agent, after: failure)
        }
        let (address, failure, hanging) = try await Spinner.during("Logging out", isQuiet: global.json) {
            let address = await providerAddress(vault)
            guard everywhere, isAttached else {
                let hanging = try await agent.failureToForget(account.id)
                guard everywhere else {
                    try await vault.auth.logout()
                    // The agent may have stored a new one meanwhile.
                    try await vault.auth.removeAccessToken(of: account.id)
                    return (address, VaultError?.none, hanging)
                }
                return (address, try await revoke(account, vault), hanging)
            }
            // The agent has the refresh token. It ends its session itself, after the provider was asked.
            let failure = try await revoke(account, vault)
            return (address, failure, try await agent.failureToForget(account.id))
        }
        if let hanging {
            if let address { try await show(address.get()) }
            let revoked = failure.map { "The identity provider did not revoke the refresh token: \($0.sentences)" }
            throw Self.leftOpen(
                hanging, account,
                everywhere ? revoked ?? "The identity provider revoked the refresh token." : nil)
        }
        if !everywhere {
            let next = global.json ? "" : await vault.wayBack(to: account, settings)
            report("Logged out \(name). \(next)", revoked: nil, reason: nil)
        } else if let failure, forget {
            reportForgotten(account, failure)
        } else if let failure {
            report("Logged out \(name) on this machine only.", revoked: false, reason: failure.text)
        } else {
            report(
                """
                Logged out \(name). The identity provider revoked the refresh token of this machine. \
                \(Proposed.registering())
                """,
                revoked: true, reason: nil)
            if !global.json { RemainingAccess.tellOfOtherLogins(of: account) }
        }
        // On this machine everything is closed by now, also if the provider failed.
        if let address { try await show(address.get()) }
        if let failure, !forget {
            throw Self.notRevoked(failure, user: await vault.storage.userOption(of: account.id))
        }
    }

    /// What the person can type if there are several accounts and none is named.
    private func adviceIfSeveral(_ example: String) -> String {
        guard !everywhere else { return "To log out of one: vault logout --everywhere \(example)" }
        return "To log out of one: vault logout \(example). To lock all: vault agent lock"
    }

    /// Opens the account in this process.
    ///
    /// - Returns: the error after which `--forget` deletes the tokens; nil if the account is open.
    /// - Throws: ``VaultError`` that also says that nothing was closed.
    private func failureToOpen(_ account: Account, in vault: Vault) async throws -> VaultError? {
        do {
            _ = try await unlock.session(of: account, in: vault, isReusable: true, mayAttach: false, global)
            return nil
        } catch let error as VaultError {
            guard !forgets(afterOpening: error) else { return error }
            let user = await vault.storage.userOption(of: account.id)
            throw error.saying(
                "\(error.sentences) Nothing was closed. To log out on this machine only: vault logout \(user)")
        }
    }

    /// Logs out on this machine, also if the backend fails, and tells the backend if its layout has a path for that.
    ///
    /// - Parameter problem: why no account can be opened; nil if one can.
    /// - Returns: why the backend was not told.
    private func logOutHere(
        _ account: Account, _ vault: Vault, _ problem: VaultError?, telling token: [UInt8]?
    ) async throws -> VaultError? {
        var failure: VaultError?
        // A logout does not ask for a password.
        if account.tellsLogout && !unlock.isNamed && !unlock.password.isGiven {
            failure = VaultError(
                .configurationInvalid,
                "vault must open the account for that. Next time: \(Proposed.command("logout --password"))")
        } else if account.tellsLogout, let problem {
            failure = problem
        } else if account.tellsLogout {
            do {
                _ = try await unlock.session(
                    of: account, in: vault, isReusable: true, mayAttach: false, global)
                failure = try await Spinner.during("Logging out", isQuiet: global.json) {
                    try await vault.ownAuth.logout(telling: token)
                }
            } catch {
                failure =
                    VaultError.converting(error) as? VaultError
                    ?? VaultError(.identityProviderUnavailable, "The backend was not told.", underlying: error)
            }
        }
        try await vault.auth.removeAccessToken(of: account.id)
        return failure
    }

    /// The error for an agent that hangs.
    ///
    /// - Parameter told: the sentence that says whether the server knows of the logout; nil if it need not know.
    static func leftOpen(_ hanging: VaultError, _ account: Account, _ told: String?) -> VaultError {
        hanging.saying(
            "\(told.map { "\($0) " } ?? "")The session of \(account.displayName) in the agent is still open. \(hanging.text)"
        )
    }

    /// - Parameter user: the option that names the account.
    private static func notRevoked(_ failure: VaultError, user: String) -> VaultError {
        let next =
            failure.isOutage
            ? "To delete it here in any case, add --forget. Try again: vault logout --everywhere \(user)"
            : "End the login on the identity provider's own pages, then: vault logout --everywhere --forget \(user)"
        return failure.saying(
            "The identity provider did not revoke the refresh token. It stays stored here. \(failure.sentences) \(next)"
        )
    }

    /// The address for the browser; nil without `--browser`.
    private func providerAddress(_ vault: Vault) async -> Result<String, any Error>? {
        guard browser else { return nil }
        do { return .success(try await vault.auth.providerLogoutURL()) } catch { return .failure(error) }
    }

    private func show(_ address: String) async throws {
        if !noBrowser && Desktop.hasBrowser {
            if !global.json {
                Output.note("The identity provider may ask in the browser whether to log out there, too.")
            }
            return try await SystemBrowser().open(address)
        }
        if !global.json { Output.note("Open this address in the browser that you signed in with:") }
        Output.note(address)
    }

    func report(_ text: String, revoked: Bool?, reason: String?) {
        guard global.json else { return Output.line(text) }
        Output.json(Report(loggedOut: true, revoked: revoked, reason: reason))
    }

    private struct Report: Encodable {
        let loggedOut: Bool
        let revoked: Bool?
        let reason: String?
    }
}
