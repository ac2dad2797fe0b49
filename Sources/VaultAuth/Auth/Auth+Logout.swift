internal import OpenIDConnect
internal import VaultHTTP
public import VaultStorage

// Logging out, and what ends an account.
extension Auth {
    /// Logs out: keys and tokens leave the memory, and the cached access token the disk. The sealed refresh token stays,
    /// and the password opens it again. Nothing is revoked: see ``logoutEverywhere()``.
    ///
    /// If the layout of the backend has a path `localLogout`, the backend is told of the logout.
    ///
    /// - Returns: why the backend could not be told; nil when it was told, or when there is no such path. The account
    ///   is logged out on this machine in every case.
    @discardableResult
    public func logout() async throws -> VaultError? {
        guard let session = current.session, let listener = logoutListener(of: session) else {
            if let id = await current.forget() { try await removeAccessToken(of: id) }
            return nil
        }
        current.keepClosedWhatIsBeingOpened()
        // Nothing is asked of a server before everything is closed here: that may take minutes.
        let (vaultKey, atHand) = (try? await session.openVaultKey(), session.tokenAtHand(validFor: .zero))
        await current.end(session, .requested)
        let stored = await storedToken(of: session.id, vaultKey)
        try await removeAccessToken(of: session.id)
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

    /// The cached access token, if it is still good.
    private func storedToken(of id: AccountID, _ vaultKey: VaultKey?) async -> AccessToken? {
        guard let vaultKey,
            let token = try? await TokenItems(store: accounts.store, id: id, vaultKey: vaultKey).accessToken(),
            token.isValid(for: .zero, at: accounts.clock.now)
        else { return nil }
        return token
    }

    /// The issuer, if it is to be told of a logout.
    private func logoutListener(of session: Session) -> (any LogoutListener)? {
        guard let issuer = try? issuers.issuer(session.source) as? any LogoutListener, issuer.wantsLogout else {
            return nil
        }
        return issuer
    }

    /// Locks the open account: keys and tokens leave the memory, and nothing else changes. The password opens it again.
    ///
    /// - Parameter reason: what the listeners of ``AuthProtocol/sessionUpdates`` are told.
    public func lock(_ reason: SessionUpdate.Reason) async { await current.lock(reason) }

    /// Removes an account's cached access token from the store.
    public func removeAccessToken(of id: AccountID) async throws {
        try await converting {
            try await accounts.withLock(on: id) { [store = accounts.store] _ in
                try await store.apply([.removeItem(.accessToken)], to: id)
            }
        }
    }

    /// Logs out, and has the provider revoke the refresh token (RFC 7009) for every program that holds it.
    ///
    /// When the provider does not do it, the sealed refresh token stays, so that it can be tried again.
    ///
    /// - Returns: nil when the provider revoked it, or why it did not.
    public func logoutEverywhere() async throws -> VaultError? {
        let session: Session
        switch current.loginToEnd() {
        case .none: throw VaultError(.notLoggedIn, "Nobody is logged in.")
        case .unstored(let token):
            current.updates.send(.init(.loggedOut, token.account, reason: .everywhere))
            return await revoke(token)
        case .open(let open): session = open
        }
        do {
            let failure = try await revoke(session) { [store = accounts.store] in
                try await store.apply(
                    [.removeItem(.refreshToken), .removeItem(.accessToken), .removeItem(.idToken), .endRefresh],
                    to: session.id)
                return {}
            }
            await current.end(session, .everywhere)
            if failure != nil { try await removeAccessToken(of: session.id) }
            return failure
        } catch {
            // Whatever stood in the way: on this machine nothing stays open.
            await current.end(session, .requested)
            try? await removeAccessToken(of: session.id)
            throw error
        }
    }

    /// Deletes the open account with all that is stored of it, after the provider was asked to revoke its refresh token.
    ///
    /// - Returns: nil when the provider revoked it, or why it did not. The account is gone in either case.
    public func deleteAccount() async throws -> VaultError? {
        guard case .open(let session) = current.login else { throw VaultError(.notLoggedIn, "Nobody is logged in.") }
        var failure: VaultError?
        do {
            failure = try await revoke(session) { [accounts] in
                let retired = try await accounts.remove(session.id)
                return { await accounts.end(retired, of: session.id) }
            }
        } catch let error as VaultError {
            failure = error
        }
        await AttemptRecords.forget(in: accounts.store, at: accounts.clock.now, usersAt: session.id.issuer)
        await current.end(session, .deleted)
        if failure != nil { try await converting { try await accounts.delete(session.id) } }
        return failure
    }

    /// Deletes an account that `vaultKey` was opened with, after the provider was asked to revoke its refresh token: the one
    /// that is stored while nobody can renew it.
    ///
    /// - Returns: why the provider did not revoke it; nil when it did, or when there was none.
    func delete(_ account: Account, vaultKey: VaultKey) async throws -> VaultError? {
        let id = account.id
        let (failure, retired) = try await accounts.withLock(on: id, storesFirst: true) { [accounts] _ in
            // Deleted meanwhile, or registered again, it is another account.
            _ = try await accounts.current(account)
            var failure: VaultError?
            do {
                failure = await revokeAtProvider(try await accounts.refreshToken(of: id, vaultKey: vaultKey))
            } catch let error as VaultError where error.code == .notLoggedIn {
                // After a logout everywhere there is none to revoke.
            }
            return (failure, try await accounts.remove(id))
        }
        await accounts.end(retired, of: id)
        await AttemptRecords.forget(in: accounts.store, at: accounts.clock.now, usersAt: id.issuer)
        return failure
    }

    /// Ends the session of an account that was deleted.
    package func accountWasDeleted(_ id: AccountID) async { await current.accountWasDeleted(id) }

    /// Has the stored refresh token revoked and then changes the store, while nobody can renew the token in between.
    ///
    /// - Parameter change: gives what is to be done afterwards.
    private func revoke(
        _ session: Session, then change: @escaping @Sendable () async throws -> @Sendable () async -> Void
    ) async throws -> VaultError? {
        let id = session.id
        return try await converting {
            let (failure, finish) = try await accounts.withLock(on: id, storesFirst: true) { _ in
                // The one to revoke is the last that the provider issued.
                let token = try await session.storedRefreshToken()
                let nothing: @Sendable () async -> Void = {}
                if let failure = await revokeAtProvider(token) { return (VaultError?.some(failure), nothing) }
                return (nil, try await change())
            }
            await finish()
            return failure
        }
    }

    /// Has the provider revoke a refresh token (RFC 7009). Of a login that is not stored yet, that is the newest one; the
    /// login hands out nothing any more.
    ///
    /// - Returns: nil when it did, or why it did not.
    public func revoke(_ token: RefreshToken) async -> VaultError? {
        await revokeAtProvider(unstoredLogins.revoking(token) ?? token)
    }

    private func revokeAtProvider(_ token: RefreshToken) async -> VaultError? {
        do {
            try await issuers.issuer(issuers.source(of: token)).revoke(token.credential, of: token.account)
            return nil
        } catch {
            return VaultError.converting(error) as? VaultError
                ?? VaultError(.identityProviderUnavailable, "The token could not be revoked.", underlying: error)
        }
    }
}
