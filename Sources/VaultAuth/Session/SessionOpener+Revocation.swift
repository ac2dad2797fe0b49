internal import VaultStorage
internal import VaultUnlock

// The end of refresh tokens at the provider (RFC 7009), and of access tokens in the store.
extension SessionOpener {
    /// Asks the provider to revoke a refresh token.
    ///
    /// - Returns: nil if the provider revoked it. Otherwise the reason why it did not.
    func revoke(_ token: SignInResult) async -> VaultError? {
        do {
            try await issuers.issuer(issuers.source(of: token)).revoke(token.credential, of: token.account)
            return nil
        } catch {
            return VaultError.converting(error) as? VaultError
                ?? VaultError(
                    .identityProviderUnavailable, "The token could not be revoked. Try again later.", underlying: error)
        }
    }

    /// Asks the provider to revoke the stored refresh token, then changes the store. Nobody can renew the token in
    /// between.
    ///
    /// - Parameter change: returns the work that follows.
    func revoke(
        _ session: any SessionBackend, then change: @escaping @Sendable () async throws -> @Sendable () async -> Void
    ) async throws -> VaultError? {
        do {
            let (failure, finish) = try await accounts.withLock(on: session.id, storesFirst: true) { _ in
                // The token to revoke is the last one that the provider issued.
                let token = try await session.refreshToken()
                let nothing: @Sendable () async -> Void = {}
                if let failure = await revoke(token) { return (VaultError?.some(failure), nothing) }
                return (nil, try await change())
            }
            await finish()
            return failure
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Removes an account's cached access token from the store, and returns it as it was sealed; nil if there was none.
    @discardableResult
    func takeAccessToken(of id: AccountID) async throws -> [UInt8]? {
        do {
            return try await accounts.withLock(on: id) { [store = accounts.store] _ in
                let sealed = try await store.item(.accessToken, of: id)
                try await store.apply([.removeItem(.accessToken)], to: id)
                return sealed
            }
        } catch {
            throw VaultError.converting(error)
        }
    }
}
