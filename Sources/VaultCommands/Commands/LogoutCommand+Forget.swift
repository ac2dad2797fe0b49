internal import CredentialVault

// `--forget`: the tokens are deleted here, also if the provider does not revoke them.
extension LogoutCommand {
    /// Asks the provider to revoke the refresh token. With `--forget`, deletes the tokens here if it does not.
    ///
    /// - Returns: why the provider did not revoke it; nil if it did.
    func revoke(_ account: Account, _ vault: Vault) async throws -> VaultError? {
        let failure: VaultError?
        do {
            failure = try await vault.auth.logoutEverywhere()
        } catch let error as VaultError where forgets(after: error) {
            failure = error
        }
        if forget && failure != nil { try await vault.ownAuth.forgetTokens(of: account.id) }
        return failure
    }

    /// Whether the tokens are deleted here after this error, although the provider was not asked to revoke them. After a
    /// typing error the person can try again, and later nobody could ask the provider.
    func forgets(after error: VaultError) -> Bool {
        forget && error.code != .wrongSecret && error.code != .cancelled
    }

    /// As ``forgets(after:)``, for an error of opening the account. After a slip, or an error that passes, the person
    /// can try again, too. So can a person who named an unlock method that the account does not have.
    func forgets(afterOpening error: VaultError) -> Bool {
        if error.code == .notEnrolled && unlock.isNamed { return false }
        let passing: [VaultError.Code] = [
            .configurationInvalid, .passwordUnusable, .lastGuess, .busy, .hardwareMissing, .tooManyAttempts,
        ]
        return forgets(after: error) && !passing.contains(error.code)
    }

    /// Deletes the tokens here after the provider could not be asked.
    func forgetTokens(
        of account: Account, _ vault: Vault, _ agent: AgentSessions, after failure: VaultError
    ) async throws {
        let hanging = try await agent.failureToForget(account.id)
        try await vault.ownAuth.forgetTokens(of: account.id)
        if let hanging { throw Self.leftOpen(hanging, account, "The tokens were deleted here.") }
        reportForgotten(account, failure)
    }

    /// Logs out on this machine if there is no refresh token to revoke. Needs no secret.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn`, but not with `--forget`. Another code if the agent hangs.
    func logOutWithoutToken(
        _ account: Account, _ vault: Vault, _ agent: AgentSessions, _ settings: Settings
    ) async throws {
        let hanging = try await agent.failureToForget(account.id)
        if forget { try await vault.ownAuth.forgetTokens(of: account.id) }
        // The agent may have stored a new access token meanwhile.
        try await vault.auth.removeAccessToken(of: account.id)
        let fact = "\(account.displayName) has no refresh token on this machine, so there is nothing to revoke."
        if let hanging { throw Self.leftOpen(hanging, account, fact) }
        let next = await vault.wayBack(to: account, settings)
        guard forget else { throw VaultError(.notLoggedIn, "\(fact) It is logged out here. \(next)", detail: .told) }
        report("Logged out. \(Printable.text(fact)) \(next)", revoked: false, reason: fact)
    }

    func reportForgotten(_ account: Account, _ failure: VaultError) {
        let name = Printable.text(account.displayName)
        report(
            """
            Logged out \(name) on this machine only, and deleted its tokens here. Its items and unlock methods stay. \
            \(Proposed.registering())
            """,
            revoked: false, reason: failure.fact)
        guard !global.json else { return }
        // Without the advice of the error: nobody can try again with a token that is gone.
        Output.note(
            """
            vault: the identity provider did not revoke the refresh token, which may still work: \(failure.fact) \
            To end it, use the account pages of \(RemainingAccess.pages(of: account))
            """
        )
        RemainingAccess.tellOfAccessToken(of: account)
    }
}
