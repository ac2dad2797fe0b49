package import Foundation
internal import Logging
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

/// Exchanges the stored refresh token for new tokens without ever losing one. It sets a mark before it calls the
/// provider. It stores the new refresh token before anybody gets the new access token. It runs one at a time across
/// threads and processes.
package struct RefreshTransaction: Sendable {
    let id: AccountID
    let vaultKey: VaultKey
    let store: any SecureStore
    let unstored: UnstoredTokens
    let issuer: any TokenIssuer
    /// The source that the issuer was chosen by.
    let source: IssuerSource
    /// Whether somebody still wants the result. The issuer's answer is stored in any case.
    let isWanted: @Sendable () -> Bool
    let clock: any WallClock
    var logger = Logger.silent
    /// Returns the changes that store the claims for the list of accounts.
    var changesToShow: @Sendable (_ claimsJSON: [UInt8]) -> [StoreChange] = { _ in [] }
    /// The service that the access token is for (RFC 8707); nil for the usual one. Such a token is not stored: the stored
    /// one is for the person's own use.
    var audience: String?

    /// A caller's request.
    package struct Request: Sendable {
        /// Whether to refresh even if the present token is good, unless somebody refreshed after `at`.
        package var force = false
        /// The least time for which the token must be valid.
        package var minimumValidity: Duration
        /// The value of a token that a resource server refused. Any other token is good.
        package var rejected: String?
        /// The time of the request.
        package var at: Date

        package init(force: Bool = false, minimumValidity: Duration, rejected: String? = nil, at: Date) {
            self.force = force
            self.minimumValidity = minimumValidity
            self.rejected = rejected
            self.at = at
        }

        /// Whether a token is good enough.
        func accepts(_ token: AccessToken, now: Date) -> Bool {
            token.value != rejected && token.isValid(for: minimumValidity, at: now)
        }

        /// Whether the result of this request is also good enough for `other`. Without force, it may come from the
        /// store.
        func covers(_ other: Request) -> Bool {
            force
                || !other.force && other.minimumValidity <= minimumValidity
                    && (other.rejected == nil || other.rejected == rejected)
        }
    }

    /// - Returns: the token, and whether the provider was asked for it.
    func run(_ request: Request) async throws -> (token: AccessToken, isNew: Bool) {
        try await unstored.withLock(on: id, in: store, storesFirst: true) { lock in
            guard isWanted() else { throw VaultError(.notLoggedIn, "The session is locked. Log in again.") }
            try await VaultKeyRecord(store: store, account: id).require(vaultKey)
            let items = TokenItems(store: store, id: id, vaultKey: vaultKey)
            let now = clock.now
            if audience == nil, let token = try await items.accessToken(), request.accepts(token, now: now),
                // The clock may have been set back: a token from the future does not show that somebody was faster.
                !request.force || token.obtainedAt > request.at && token.obtainedAt <= now
            {
                logger.debug("using the stored access token", metadata: id.logMetadata)
                return (token, false)  // another program refreshed it during the wait for the lock
            }
            let new = try await unstored.stopGuard.run {
                // A lock looks at the guard afterwards. So either the lock waits for this renewal, or this line sees the lock.
                guard isWanted() else { throw VaultError(.notLoggedIn, "The session is locked. Log in again.") }
                return try await refresh(items, lock)
            }
            return (new, true)
        }
    }

    private func refresh(_ items: TokenItems, _ lock: AccountLock) async throws -> AccessToken {
        guard let account = try await store.account(id) else {
            throw VaultError(.accountNotFound, "The account was deleted meanwhile. Register it again.")
        }
        guard source.isOf(account) else {
            // The stored token must go only to its own server and client.
            throw VaultError(
                .notLoggedIn, "\(account.displayName) now uses another client or another way to sign in. Log in again."
            )
        }
        guard let stored = try await stored(items) else {
            throw VaultError.noRefreshToken(id, account)
        }
        // Before the mark: a refresh that was never sent cannot be cut off.
        if let refusing = issuer as? RefusingIssuer { throw refusing.error }
        if let audience, !(issuer is any AudienceIssuer) {
            throw Accounts.notRestricted(account.displayName, audience, nil)
        }
        let wasInterrupted = account.refreshStartedAt != nil
        try await store.apply([.beginRefresh(clock.now)], to: id)
        FaultPoint.refreshMarked.reach()
        do {
            return try await exchange(stored, items, lock)
        } catch let error as OpenIDConnectError where error.code == .invalidGrant {
            // Another program may have stored another token meanwhile. Then try that token once.
            if let current = try await self.stored(items), current.credential.value != stored.credential.value {
                logger.notice(
                    "refused; another program stored another token meanwhile: trying that one", metadata: id.logMetadata
                )
                do { return try await exchange(current, items, lock) } catch {
                    throw await refused(error, account: account, wasInterrupted: wasInterrupted)
                }
            }
            throw await refused(error, account: account, wasInterrupted: wasInterrupted)
        } catch {
            throw await refused(error, account: account, wasInterrupted: wasInterrupted)
        }
    }

    /// The credential, and the bytes that it is stored as.
    private typealias Stored = (credential: Credential, sealed: [UInt8])

    private func stored(_ items: TokenItems) async throws -> Stored? {
        guard let sealed = try await store.item(.refreshToken, of: id), let credential = try await items.credential()
        else {
            return nil
        }
        return (credential, sealed)
    }

    /// Asks the issuer and stores its answer. The credential is stored at once, because the old one may no longer work.
    /// The rest is stored after its checks, which may take time or fail.
    private func exchange(_ stored: Stored, _ items: TokenItems, _ lock: AccountLock) async throws -> AccessToken {
        let kind =
            ["token": .string(stored.credential.logName), "method": .string(source.key.method.rawValue)]
            as Logger.Metadata
        logger.debug("asking for an access token", metadata: id.logMetadata.merging(kind) { $1 })
        var isKept = false
        func keep(_ credential: Credential) async throws {
            FaultPoint.refreshAnswered.reach()
            let record = VaultKeyRecord(store: store, account: id)
            try await unstored.commit(
                [record.requiring(vaultKey), items.put(credential), .endRefresh, .noteOnline(clock.now)],
                replacing: stored.sealed, of: id, in: store, lock: lock)
            FaultPoint.refreshCommitted.reach()
            isKept = true
        }
        let tokens =
            if let audience, let issuer = issuer as? any AudienceIssuer {
                try await issuer.renew(stored.credential, of: id, audience: audience, keep: keep)
            } else {
                try await issuer.renew(stored.credential, of: id, keep: keep)
            }
        if !isKept {
            // An issuer that forgets to call `keep` must not lose a token.
            var credential = stored.credential
            credential.value = tokens.refreshToken ?? credential.value
            try await keep(credential)
        }
        let accessToken = AccessToken(
            value: tokens.accessToken, tokenType: tokens.tokenType, expiresAt: tokens.expiresAt,
            scope: tokens.scope ?? stored.credential.scope, obtainedAt: clock.now)
        guard audience == nil else { return accessToken }
        var changes = [
            try await items.put(accessToken),
            .noteTokens(
                scope: accessToken.scope, type: accessToken.tokenType,
                accessTokenExpiresAt: accessToken.expiresAt),
        ]
        changes += await items.confirmed(at: tokens.idToken?.issuedAt, now: clock.now)
        if let idToken = tokens.idToken { changes.append(try await items.put(idToken: idToken.encoded)) }
        if let identity = identity(in: tokens) {
            changes.append(try await items.put(claimsJSON: identity.claimsJSON))
            changes += await changesToName(identity) + changesToShow(identity.claimsJSON)
        }
        // This is only a copy for the next start. The credential is stored, and the access token works without the
        // copy.
        if isWanted() { try? await store.apply(changes, to: id) }
        await adoptLayout()
        return accessToken
    }

    /// Returns what the answer says of the account's person; nil if it says nothing, or is about another person.
    private func identity(in tokens: TokenSet) -> SignInResult.Identity? {
        if let idToken = tokens.idToken {
            guard idToken.subject == id.subject else { return nil }
            return SignInResult.Identity(
                email: idToken.email, preferredUsername: idToken.preferredUsername, name: idToken.name,
                claimsJSON: idToken.claimsJSON)
        }
        guard let info = tokens.userInfo, info.subject == id.subject else { return nil }
        return SignInResult.Identity(
            email: info.email, preferredUsername: info.preferredUsername, name: info.name, claimsJSON: info.claimsJSON)
    }

    /// Returns the changes that give the account the person's present e-mail address and user name. A name that the
    /// answer leaves out stays, because the ID token of a refresh need not have all claims (OpenID Connect Core section
    /// 12.2). The alias is the person's own choice, and stays, too.
    private func changesToName(_ identity: SignInResult.Identity) async -> [StoreChange] {
        guard let stored = try? await store.account(id) else { return [] }
        var account = stored
        account.email = identity.email ?? stored.email
        account.preferredUsername = identity.preferredUsername ?? stored.preferredUsername
        return account == stored ? [] : [.putAccount(account)]
    }

    /// Stores the layout in an old account without one, because this layout could read the server's answer.
    private func adoptLayout() async {
        guard let layout = source.layout, var account = try? await store.account(id), account.layout == nil else {
            return
        }
        account.layout = layout
        try? await store.apply([.putAccount(account)], to: id)
    }

    /// Decides what a failed exchange means. The stored token always stays. The mark is removed only if the provider
    /// certainly refused the request or did not carry it out.
    private func refused(_ error: any Error, account: Account, wasInterrupted: Bool) async -> any Error {
        guard let error = error as? OpenIDConnectError else { return error }
        let isSettled = error.code == .invalidGrant || error.code == .refused || !error.mayHaveBeenProcessed
        var changes: [StoreChange] = isSettled && !wasInterrupted ? [.endRefresh] : []
        // The access token is from the sign-in that the provider ended, so nobody must get it any more. A refusal for one
        // audience may be about that audience alone.
        if error.code == .invalidGrant && audience == nil {
            changes.append(.removeItem(.accessToken))
            // Otherwise each later start of a program would ask for a secret that cannot help. A refusal that a proxy may
            // have sent is not noted: the next login asks again.
            if error.isFinal { changes.append(.noteRefusal(clock.now)) }
        }
        // If this fails, the mark stays, and a later refusal counts as an interruption. That is close enough.
        if !changes.isEmpty { try? await store.apply(changes, to: id) }
        guard error.code == .invalidGrant else { return VaultError.converting(error) }
        return VaultError.refused(account, wasInterrupted: wasInterrupted, by: error)
    }
}
