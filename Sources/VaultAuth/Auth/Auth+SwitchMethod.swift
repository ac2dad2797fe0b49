public import VaultCrypto
public import VaultStorage
internal import VaultUnlock

extension Auth {
    /// Changes how an account signs in at its server, for example from an API token to OAuth. The account, its password
    /// and its items stay. The account is open afterwards.
    ///
    /// The password is checked first. Then the same person has to sign in again. Only then the new token replaces the
    /// old one, in one step. The server is asked to end the old token.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - password: the account's password on this machine, not the password at the server.
    ///   - method: the new way to sign in: `ServerSignIn` with `oauth`, or, to go back to an API token, `ServerSignIn`
    ///     with `apiToken` or `APITokenSignIn`.
    /// - Returns: nil if the server ended the old token. Otherwise the reason why it did not. The new token is stored
    ///   in either case.
    /// - Throws: ``VaultError`` as ``AuthProtocol/unlock(_:with:)`` and ``signIn(_:)``. Also
    ///   `configurationInvalid` if the account does not belong to a server, and `tokenInvalid` if another person signed
    ///   in. Then nothing was changed.
    @discardableResult
    public func switchMethod(
        of id: AccountID, password: borrowing SecretBytes, to method: any SignIn
    ) async throws -> VaultError? {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        let account = try await stored(id)
        let vaultKey: VaultKey
        do {
            guard account.method == .serverToken || account.method == .serverOAuth else {
                throw VaultError(
                    .configurationInvalid,
                    "\(account.displayName) does not belong to a server with API tokens and OAuth, so its way to sign in cannot change."
                )
            }
            vaultKey = try await accounts.open(account, with: .password(password))
        } catch {
            throw VaultError.converting(error)
        }
        let new = try await signIns.run(method, at: account.id.issuer, layout: account.layout)
        guard new.account == account.id else {
            _ = await revoke(new)
            throw VaultError(
                .tokenInvalid,
                "Another person signed in, not \(account.displayName). Nothing was changed. Sign in as \(account.displayName)."
            )
        }
        let old: SignInResult?
        do {
            old = try await accounts.replaceRefreshToken(new, in: account, vaultKey: vaultKey, alias: nil)
        } catch {
            _ = await revoke(new)
            throw VaultError.converting(error)
        }
        _ = try await VaultError.converting {
            try await open(new, vaultKey: vaultKey, hasSecret: true, since: opening)
        }
        guard let old, old.value != new.value else { return nil }
        return await revoke(old)
    }

    /// As ``switchMethod(of:password:to:)``, for an account by one of its names.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name. An alias wins over a subject.
    ///   - password: the account's password on this machine.
    ///   - method: the new way to sign in.
    /// - Returns: as ``switchMethod(of:password:to:)``.
    /// - Throws: as ``switchMethod(of:password:to:)``; also `accountAmbiguous`: name one of ``VaultError/accounts``.
    @discardableResult
    public func switchMethod(
        userID: String, password: borrowing SecretBytes, to method: any SignIn
    ) async throws -> VaultError? {
        try await switchMethod(of: named(userID).id, password: password, to: method)
    }
}
