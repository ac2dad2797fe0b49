internal import KeyServiceClient
package import VaultStorage
package import VaultUnlock

// A person who is locked out, and signs in at the provider again.
extension Auth {
    /// Unlocks the locked keys of an account on this machine. The account stays closed, and the login is not stored.
    ///
    /// - Parameter login: a sign-in of a moment ago, as the account's person.
    /// - Returns: the keyslots whose keys were unlocked, and those whose keys stay locked, with the reasons.
    /// - Throws: ``VaultError`` with code `tokenInvalid` if another person signed in, the codes of
    ///   ``accessToken(of:forceRefresh:minimumValidity:)``, and `deviceNotFound`, `configurationInvalid` or
    ///   `keyServiceUnavailable` from the key service.
    package func unlockKeys(of account: Account, with login: SignInResult) async throws -> OwnerUnlock {
        guard login.account == account.id else {
            // The other person may have an account here, too. If the store cannot be read, nothing is revoked.
            do {
                let other = try await accounts.store.account(login.account)
                if other?.clientID != login.clientID { _ = await revoke(login) }
            } catch {}
            throw VaultError(
                .tokenInvalid,
                "Another person signed in, not \(account.displayName). Nothing was unlocked. Sign in as \(account.displayName)."
            )
        }
        let result: Result<OwnerUnlock, any Error>
        do {
            result = .success(try await accounts.unlockKeys(of: account, ownerToken(of: login, for: account)))
        } catch {
            result = .failure(VaultError.converting(error))
        }
        // Many providers then revoke all tokens of the client and person, also the stored one (RFC 7009 section 2.1).
        if login.clientID != account.clientID { _ = await revoke(login) }
        return try result.get()
    }

    private func ownerToken(of login: SignInResult, for account: Account) async throws -> OwnerToken {
        var token = login.accessToken
        if let audience = accounts.keyServiceAudience.name(of: account.keyServiceURL) {
            token = try await accessToken(of: login, for: audience)
        }
        guard let token else {
            throw VaultError(.tokenInvalid, "The identity provider sent no access token. Sign in again.")
        }
        guard token.isBound, let key = login.credential.proofKey, let source = accounts.ownerTokens else {
            return OwnerToken(token.value)
        }
        return OwnerToken(token.value, proof: try source.proof(of: token.value, with: key))
    }
}
