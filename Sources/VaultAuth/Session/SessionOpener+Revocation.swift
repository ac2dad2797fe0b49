internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

// The end of refresh tokens at the provider (RFC 7009), and of access tokens in the store.
extension SessionOpener {
    /// Asks the provider to revoke a refresh token that nobody needs any more.
    ///
    /// - Returns: nil if the provider revoked it. Otherwise the reason why it did not.
    func revoke(_ token: SignInResult) async -> VaultError? {
        guard let issuer = try? issuers.issuer(issuers.source(of: token)) as? any BearerRevoker else {
            return await revokeAsItIs(token)
        }
        do {
            try await end(token, at: issuer)
            return nil
        } catch {
            return Self.reason(error)
        }
    }

    /// Asks the provider to revoke the stored refresh token, then changes the store. Nobody can renew the token in
    /// between.
    ///
    /// - Parameters:
    ///   - session: the open session of the account; nil if there is none any more.
    ///   - refused: the access token of an earlier try, which the server refused.
    ///   - change: returns the work that follows.
    func revoke(
        _ backend: any SessionBackend, of session: Session?, replacing refused: AccessToken? = nil,
        then change: @escaping @Sendable () async throws -> @Sendable () async -> Void
    ) async throws -> VaultError? {
        guard let session, let source = session.source, let issuer = try? issuers.issuer(source) as? any BearerRevoker
        else {
            // The token is stored, so it must not be renewed without a place for the new one.
            return try await revoke(backend, by: { await self.revokeAsItIs($0) }, then: change)
        }
        let bearer: AccessToken
        do {
            // The server refuses a request with a token at its end, and an old refresh token. So a renewal comes first.
            bearer = try await accessToken(of: session, replacing: refused)
        } catch let error as VaultError where error.isRefreshTokenExpired {
            // A refresh token that the server itself refused has ended already (RFC 7009 section 2.2). The account has the
            // time of such a refusal. Any other refusal may come from a proxy.
            let account = try? await accounts.store.account(session.id)
            guard account?.refusedAt != nil else { return error }
            return try await revoke(backend, by: { _ in nil }, then: change)
        } catch {
            return Self.reason(error)
        }
        let failure = try await revoke(
            backend,
            by: { token in
                do {
                    try await issuer.revoke(token.credential, of: token.account, accessToken: bearer.value)
                    return nil
                } catch {
                    return SessionOpener.reason(error)
                }
            }, then: change)
        guard let failure, failure.refusesBearer, refused == nil else { return failure }
        return try await revoke(backend, of: session, replacing: bearer, then: change)
    }

    private func revokeAsItIs(_ token: SignInResult) async -> VaultError? {
        do {
            try await issuers.issuer(issuers.source(of: token)).revoke(token.credential, of: token.account)
            return nil
        } catch {
            return Self.reason(error)
        }
    }

    /// - Parameter request: asks the provider; returns the reason why it did not revoke the token.
    private func revoke(
        _ session: any SessionBackend, by request: @escaping @Sendable (SignInResult) async -> VaultError?,
        then change: @escaping @Sendable () async throws -> @Sendable () async -> Void
    ) async throws -> VaultError? {
        do {
            let (failure, finish) = try await accounts.withLock(on: session.id, storesFirst: true) { _ in
                // The token to revoke is the last one that the provider issued.
                let token = try await session.refreshToken()
                let nothing: @Sendable () async -> Void = {}
                if let failure = await request(token) { return (VaultError?.some(failure), nothing) }
                return (nil, try await change())
            }
            await finish()
            return failure
        } catch {
            throw VaultError.converting(error)
        }
    }

    private func accessToken(of session: Session, replacing refused: AccessToken?) async throws -> AccessToken {
        guard let refused else { return try await session.accessToken() }
        return try await session.accessToken(replacing: refused)
    }

    /// Revokes a refresh token with its access token, or with a renewed one. The renewed tokens get no place in the
    /// store, because nobody needs them.
    private func end(_ token: SignInResult, at issuer: any BearerRevoker) async throws {
        if let bearer = token.accessToken, bearer.isValid(for: .seconds(60), at: accounts.clock.now) {
            do {
                return try await issuer.revoke(token.credential, of: token.account, accessToken: bearer.value)
            } catch let error as OpenIDConnectError where error.refusesBearer {
                // The access token has ended before its time.
            }
        }
        var credential = token.credential
        do {
            let renewed = try await issuer.renew(token.credential, of: token.account) { credential = $0 }
            try await issuer.revoke(credential, of: token.account, accessToken: renewed.accessToken)
        } catch let error as OpenIDConnectError where error.isFinal {
            // The server itself refused the refresh token, so it has ended already (RFC 7009 section 2.2).
        }
    }

    private static func reason(_ error: any Error) -> VaultError {
        VaultError.converting(error) as? VaultError
            ?? VaultError(
                .identityProviderUnavailable, "The token could not be revoked. Try again later.", underlying: error)
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

extension OpenIDConnectError {
    /// Whether the server refused the access token of a request to revoke.
    fileprivate var refusesBearer: Bool { code == .refused && status == 401 }
}

extension VaultError {
    fileprivate var refusesBearer: Bool { (underlying as? OpenIDConnectError)?.refusesBearer == true }
}
