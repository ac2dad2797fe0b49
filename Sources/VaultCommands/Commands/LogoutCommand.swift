internal import ArgumentParser
internal import CredentialVault

struct LogoutCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Log out. The stored account can be opened again: vault login",
        discussion: """
            Removes the stored access token. The sealed refresh token stays. A backend whose layout names a path for a \
            logout is told if a way in is named (--password, --pin, …) or the password is given, as the account has to be \
            opened for that. With --everywhere the identity provider \
            also revokes the refresh token, and with --browser the browser is sent to where the provider ends its own \
            session; for both the account is opened, by the most convenient way that is there. After --everywhere, register again.

            If the identity provider does not revoke the refresh token, the token stays stored. Exit status 69: the \
            provider cannot be reached. Exit status 78: the provider offers no revocation.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Flag(help: "Also revoke the refresh token at the identity provider.")
    var everywhere = false

    @Flag(help: "Also end the session at the identity provider, in the browser.")
    var browser = false

    @Flag(name: .customLong("no-browser"), help: "With --browser: print the address to open instead of opening it.")
    var noBrowser = false

    func validate() throws {
        if noBrowser && !browser { throw ValidationError("--no-browser goes with --browser.") }
    }

    func run() async throws {
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let name = Printable.text(account.displayName)
        try await AgentSessions(Settings(global)).forget(account.id)
        guard everywhere || browser else {
            let failure = try await logOutHere(account, vault)
            report(
                "Logged out \(name). To log in again: vault login --user \(ShellQuoting.quoted(name))", revoked: nil,
                reason: failure?.description)
            if let failure, !global.json {
                Output.note("vault: the backend was not told: \(failure.description)")
            }
            return
        }
        _ = try await unlock.session(
            of: account, in: vault, isReusable: true, mayAttach: false, isQuiet: global.json)
        let (address, failure) = try await Spinner.during("Logging out", isQuiet: global.json) {
            let address = await providerAddress(vault)
            guard everywhere else {
                try await vault.auth.logout()
                return (address, VaultError?.none)
            }
            return (address, try await vault.auth.logoutEverywhere())
        }
        if !everywhere {
            report(
                "Logged out \(name). To log in again: vault login --user \(ShellQuoting.quoted(name))", revoked: nil,
                reason: nil)
        } else if let failure {
            report("Logged out \(name) on this machine only.", revoked: false, reason: failure.description)
        } else {
            report("Logged out \(name) everywhere. To register again: vault register", revoked: true, reason: nil)
        }
        // Whatever the provider cannot do: on this machine nothing is open any more.
        if let address { try await show(address.get()) }
        if let failure { throw Self.notRevoked(failure, account) }
    }

    /// Logs out on this machine, whatever else fails, and tells the backend if it wants to know.
    ///
    /// - Returns: why the backend was not told.
    private func logOutHere(_ account: Account, _ vault: Vault) async throws -> VaultError? {
        var failure: VaultError?
        // Nobody should have to type a password to log out.
        if account.tellsLogout && !unlock.isNamed && !unlock.password.isGiven {
            failure = VaultError(
                .configurationInvalid, "For that the account has to be opened. Next time: vault logout --password")
        } else if account.tellsLogout {
            do {
                _ = try await unlock.session(
                    of: account, in: vault, isReusable: true, mayAttach: false, isQuiet: global.json)
                failure = try await Spinner.during("Logging out", isQuiet: global.json) {
                    try await vault.auth.logout()
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

    private static func notRevoked(_ failure: VaultError, _ account: Account) -> VaultError {
        let user = ShellQuoting.quoted(account.id.subject)
        let next =
            failure.isOutage
            ? "Try again: vault logout --everywhere --user \(user)"
            : "End the login on the identity provider's own pages, then: vault delete --user \(user)"
        return VaultError(
            failure.code,
            "The identity provider did not revoke the refresh token, which stays stored here. \(failure.description) \(next)",
            underlying: failure)
    }

    /// Where the browser has to go; nil when nobody wants that.
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

    private func report(_ text: String, revoked: Bool?, reason: String?) {
        guard global.json else { return Output.line(text) }
        Output.json(Report(loggedOut: true, revoked: revoked, reason: reason))
    }

    private struct Report: Encodable {
        let loggedOut: Bool
        let revoked: Bool?
        let reason: String?
    }
}
