internal import OpenIDConnect
public import VaultCrypto
public import VaultStorage

extension Auth {
    /// Changes how an account signs in at its server: from an API token to OAuth, mostly. The account, its password and
    /// its items stay, and it is open afterwards.
    ///
    /// The password is checked first. Then the person signs in anew and has to be the same one; only then the new token
    /// takes the old one's place, in one step, and the server is asked to end the old one.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: the account's password here, not the one at the server.
    ///   - way: how to sign in from now on: `ServerSignIn`, with `oauth` for OAuth alone, or `apiToken` to go back.
    /// - Returns: nil when the server ended the old token, or why it did not. The new one counts in either case.
    /// - Throws: ``VaultError``: what ``AuthProtocol/unlock(userID:password:)`` and ``signIn(_:)`` throw,
    ///   `configurationInvalid` when the account does not belong to a server, `tokenInvalid` when another person signed
    ///   in. Then nothing was changed.
    @discardableResult
    public func switchMethod(
        userID: String, password: borrowing SecretBytes, to way: any SignIn
    ) async throws -> VaultError? {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        let account: Account
        let vaultKey: VaultKey
        do {
            account = try await accounts.find(userID, issuer: issuerOfAccounts)
            guard account.method == .serverToken || account.method == .serverOAuth else {
                throw VaultError(
                    .configurationInvalid,
                    "\(account.displayName) does not sign in at a server with API tokens and OAuth: there is nothing to choose."
                )
            }
            vaultKey = try await accounts.open(account, with: .password(password))
        } catch {
            throw VaultError.converting(error)
        }
        let new = try await signIns.run(way, at: account.id.issuer, layout: account.layout)
        guard new.account == account.id else {
            _ = await revoke(new)
            throw VaultError(
                .tokenInvalid, "Another person signed in than \(account.displayName). Nothing was changed.")
        }
        let old: RefreshToken?
        do {
            old = try await accounts.replaceRefreshToken(new, in: account, vaultKey: vaultKey, alias: nil)
        } catch {
            _ = await revoke(new)
            throw VaultError.converting(error)
        }
        _ = try await converting { try await open(new, vaultKey: vaultKey, since: opening) }
        guard let old, old.value != new.value else { return nil }
        return await revoke(old)
    }
}
