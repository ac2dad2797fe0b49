internal import VaultBase
public import VaultStorage
internal import VaultUnlock

// Logging out, and deleting an account.
extension Auth {
    /// Logs out. Keys and tokens are removed from memory, and the cached access token from the disk. The sealed refresh
    /// token stays: log in again with any unlock method. Nothing is revoked: see ``logoutEverywhere()``.
    ///
    /// This logs out the person who is logged in at the moment of the call. At a desk that many people share, this may
    /// be the next person already. To log out only the person of a session, call ``Session/lock()``, and then
    /// ``removeAccessToken(of:)`` with the session's id. That does not tell the backend.
    ///
    /// If the backend's layout has a path `localLogout`, the backend is told of the logout.
    ///
    /// - Returns: the reason why the backend could not be told; nil if it was told, or if there is no such path. In
    ///   every case the account is logged out on this machine.
    @discardableResult
    public func logout() async throws -> VaultError? { try await logout(telling: nil) }

    /// As ``logout()``.
    ///
    /// - Parameter taken: the result of ``takeAccessToken(of:)``, with which the backend can be told; nil if the store
    ///   still has the token.
    package func logout(telling taken: [UInt8]?) async throws -> VaultError? {
        guard let session = current.session, let listener = logoutListener(of: session) else {
            if let id = await current.forget() { try await removeAccessToken(of: id) }
            return nil
        }
        current.cancelPendingOpens()
        // Requests to a server may take minutes, so everything is closed here first.
        let (vaultKey, atHand) = (try? await session.openVaultKey(), session.tokenAtHand(validFor: .zero))
        await current.end(session, .requested)
        let sealed = try await takeAccessToken(of: session.id) ?? taken
        let stored = await openedToken(sealed, of: session.id, vaultKey)
        guard let token = atHand ?? stored else {
            return VaultError(
                .identityProviderUnavailable, "The access token has ended, so the server could not be told.")
        }
        do {
            try await listener.loggedOut(accessToken: token.value)
            return nil
        } catch {
            return VaultError.converting(error) as? VaultError
                ?? VaultError(.identityProviderUnavailable, "The server could not be told.", underlying: error)
        }
    }

    /// Opens a cached access token, if it is still good.
    private func openedToken(_ sealed: [UInt8]?, of id: AccountID, _ vaultKey: VaultKey?) async -> AccessToken? {
        guard let sealed, let vaultKey,
            let token = try? await TokenItems(store: accounts.store, id: id, vaultKey: vaultKey).accessToken(sealed),
            token.isValid(for: .zero, at: accounts.clock.now)
        else { return nil }
        return token
    }

    /// Returns the issuer, if it wants to know of a logout.
    private func logoutListener(of session: Session) -> (any LogoutListener)? {
        guard let source = session.source, let issuer = try? issuers.issuer(source) as? any LogoutListener,
            issuer.wantsLogout
        else { return nil }
        return issuer
    }

    /// Locks the open account: keys and tokens are removed from memory, and nothing else changes. Log in again with any
    /// unlock method.
    ///
    /// - Parameter reason: the reason that the listeners of ``AuthProtocol/sessionUpdates`` get.
    public func lock(_ reason: SessionUpdate.Reason) async { await current.lock(reason) }

    /// Removes an account's cached access token from the store.
    public func removeAccessToken(of id: AccountID) async throws { _ = try await takeAccessToken(of: id) }

    /// Removes an account's cached access token from the store, and returns it as it was sealed; nil if there was none.
    package func takeAccessToken(of id: AccountID) async throws -> [UInt8]? {
        try await opener.takeAccessToken(of: id)
    }

    /// Logs out, and asks the provider to revoke the refresh token (RFC 7009) for every program that has it.
    ///
    /// If the provider does not revoke it, the sealed refresh token stays, so that you can try again.
    ///
    /// This logs out the person who is logged in at the moment of the call. At a desk that many people share, this may
    /// be the next person already. To log out only the person of a session: ``Session/logoutEverywhere()``.
    ///
    /// - Returns: nil if the provider revoked it. Otherwise the reason why it did not.
    public func logoutEverywhere() async throws -> VaultError? {
        let session: Session
        switch current.takeLogin() {
        case .none: throw VaultError(.notLoggedIn, "Nobody is logged in. Log in first.")
        case .unstored(let token):
            current.updates.send(.init(.loggedOut, token.account, reason: .everywhere))
            return await revoke(token)
        case .open(let open): session = open
        }
        do {
            let failure = try await session.logoutEverywhere()
            await current.end(session, .everywhere)
            return failure
        } catch {
            // A session that goes on in the agent is still the login here.
            if !session.isOpen { await current.end(session, .requested) }
            throw error
        }
    }

    /// Deletes the open account with all its data. Before that it asks the provider to revoke the refresh token.
    ///
    /// This deletes the account of the person who is logged in at the moment of the call. At a desk that many people
    /// share, this may be the next person already. To name the account, call ``Storage/delete(_:revokingWith:)``.
    ///
    /// - Returns: nil if the provider revoked it. Otherwise the reason why it did not. The account is deleted in either
    ///   case.
    public func deleteAccount() async throws -> VaultError? {
        guard case .open(let session) = current.login else {
            throw VaultError(.notLoggedIn, "Nobody is logged in. Log in first.")
        }
        let vaultKey = try? await session.openVaultKey()
        var failure: VaultError?
        do {
            failure = try await opener.revoke(session.backend, of: session) { [accounts] in
                let retired = try await accounts.remove(session.id, vaultKey: vaultKey)
                return { await accounts.end(retired, of: session.id) }
            }
        } catch let error as VaultError {
            failure = error
        }
        await AttemptRecords.forget(in: accounts.store, at: accounts.clock.now, usersAt: session.id.issuer)
        await current.end(session, .deleted)
        if failure != nil {
            try await VaultError.converting { try await accounts.delete(session.id, vaultKey: vaultKey) }
        }
        return failure
    }

    /// Deletes an account that `vaultKey` opens. Before that it asks the provider to revoke the stored refresh token.
    /// Nobody can renew the token meanwhile.
    ///
    /// - Returns: the reason why the provider did not revoke it; nil if it did, or if there was no token.
    func delete(_ account: Account, vaultKey: VaultKey) async throws -> VaultError? {
        let id = account.id
        let (failure, retired) = try await accounts.withLock(on: id, storesFirst: true) { [accounts, opener] _ in
            // An account that was deleted or registered again meanwhile is another account.
            _ = try await accounts.current(account)
            var failure: VaultError?
            do {
                failure = await opener.revoke(try await accounts.refreshToken(of: id, vaultKey: vaultKey))
            } catch let error as VaultError where error.code == .notLoggedIn {
                // After a logout everywhere there is no token to revoke.
            }
            return (failure, try await accounts.remove(id, vaultKey: vaultKey))
        }
        await accounts.end(retired, of: id)
        await AttemptRecords.forget(in: accounts.store, at: accounts.clock.now, usersAt: id.issuer)
        return failure
    }

    /// Ends the session of an account that was deleted.
    package func accountWasDeleted(_ id: AccountID) async { await current.accountWasDeleted(id) }

    /// Asks the provider to revoke a refresh token (RFC 7009). For a login that is not stored yet, it revokes the
    /// newest token. The login gives out no token after that.
    ///
    /// - Returns: nil if the provider revoked it. Otherwise the reason why it did not.
    public func revoke(_ token: SignInResult) async -> VaultError? {
        await opener.revoke(unstoredLogins.revoking(token) ?? token)
    }
}
