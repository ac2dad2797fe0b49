internal import Foundation
package import KeyService
package import Logging
package import VaultCrypto
package import VaultHTTP

/// What is done with stored accounts: finding, registering, opening and deleting them, and changing their password.
package struct Accounts: Sendable {
    /// Where they are stored.
    package let store: any SecureStore
    /// Tells the time.
    package let clock: any WallClock
    /// Gets what happens. Nothing secret is logged.
    package let logger: Logger
    /// The claims of the ID token that a list of accounts shows without opening them. See
    /// `VaultConfiguration.displayClaims`.
    package var displayClaims: [String]?
    /// The cost of a new password's Argon2id.
    let argon2: Argon2Parameters
    /// The cost of a guess at a keyslot that needs no key service.
    let offlineCost: Argon2Parameters
    /// For how long after it was online last an account opens without the network, in seconds, at most.
    let offlineMaximumAge: Double
    /// What is allowed: of the app and the machine, the stricter one in each point.
    package let policy: VaultPolicy
    /// The key service of new accounts.
    let keyServiceURL: String
    /// Gives the key service at a URL: an account keeps to the one that it was registered with.
    let keyService: @Sendable (_ url: String) throws -> any KeyService
    /// Counts how long old keys are waited for.
    let timer: any Clock<Duration>
    /// Who is told of what a person should know.
    let notices = AccountNotices()
    /// What became of keyslots that an app may still hold.
    let history = KeyslotHistory()
    /// Tells when the program may stop without losing a token that a provider has just renewed.
    package var stopGuard: StopGuard { unstored.stopGuard }
    /// What all sessions on this store could not store yet.
    package let unstored: UnstoredTokens

    package init(
        store: any SecureStore, clock: any WallClock, argon2: Argon2Parameters,
        offlineCost: Argon2Parameters = OfflineKeyslot.standardCost,
        offlineMaximumAge: Duration = .seconds(14 * 86_400),
        policy: VaultPolicy, keyServiceURL: String, timer: any Clock<Duration> = ContinuousClock(),
        logger: Logger = .silent,
        keyService: @escaping @Sendable (_ url: String) throws -> any KeyService
    ) {
        self.store = store
        self.timer = timer
        self.logger = logger
        unstored = UnstoredTokens(retryClock: timer, logger: logger)
        self.clock = clock
        self.argon2 = argon2
        self.offlineCost = offlineCost
        let maximumAge = Double(offlineMaximumAge.components.seconds)
        self.offlineMaximumAge = min(maximumAge, policy.maximumOfflineDays.map { Double($0) * 86_400 } ?? maximumAge)
        self.policy = policy
        self.keyServiceURL = keyServiceURL
        self.keyService = keyService
    }

    /// Runs `body` with the account's lock. A renewed token that could not be stored is stored first if it can be.
    ///
    /// - Parameter storesFirst: whether `body` needs that token to be stored: see ``UnstoredTokens``.
    package func withLock<R: Sendable>(
        on id: AccountID, storesFirst: Bool = false, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        try await unstored.withLock(on: id, in: store, storesFirst: storesFirst, body)
    }

    /// Finds out whether the key service of new accounts answers.
    package func checkKeyService() async throws {
        try requireAllowed(keyService: keyServiceURL)
        try await keyService(keyServiceURL).checkReachable()
    }

    /// Stores a refresh token under a new password. An account that exists already gets a new vault key, so that what
    /// was sealed under the old one is lost.
    ///
    /// - Parameter replacingItems: whether an app's own items of an existing account may be lost.
    /// - Throws: ``VaultError`` with code `accountExists` when they may not; `forbiddenByPolicy` and `passwordUnusable`;
    ///   `keyServiceUnavailable`, `configurationInvalid` of the key service; `storeUnreadable`, `storeCorrupt`, `busy`.
    ///   Then nothing was changed.
    package func register(
        _ token: RefreshToken, newPassword: borrowing SecretBytes, alias: String?, replacingItems: Bool
    ) async throws -> VaultKey {
        try requireAllowed(issuer: token.account.issuer, method: token.method)
        try requireAllowed(keyService: keyServiceURL)
        try requireNewPassword(newPassword)
        let alias = try await freeAlias(alias, for: token.account)
        let existing = try await store.account(token.account)
        let losses = try await losses(with: existing)
        guard losses.isEmpty || replacingItems else {
            throw VaultError(
                .accountExists,
                "The account is registered here already. With a new password these of it are lost: \(losses.joined(separator: ", ")). Use what opens it now, or confirm the loss."
            )
        }
        let kept = try await keptAlias(of: existing)
        let account = Account(
            id: token.account, alias: alias ?? kept, email: token.identity.email,
            preferredUsername: token.identity.preferredUsername, method: token.method, clientID: token.clientID,
            layout: token.layout, keyServiceURL: keyServiceURL,
            deviceSecret: try SecretBytes.random(count: 32).withUnsafeBytes { Array($0) },
            createdAt: existing?.createdAt ?? clock.now)
        let vaultKey = try VaultKey.random()
        let slot = try await SecretKeyslot.make(
            .password, for: account, vaultKey: vaultKey, secret: newPassword, keyService: keyService(keyServiceURL),
            parameters: argon2, now: clock.now)
        do {
            let tokens = try await sealed(token, vaultKey)
            let retired = try await withLock(on: account.id) { _ in
                // The password took its time: what is replaced has to be what was looked at.
                let current = try await store.account(account.id)
                guard current?.deviceSecret == existing?.deviceSecret,
                    try await self.losses(with: current) == losses
                else {
                    throw VaultError(.busy, "Another program changed the account meanwhile. Try again.")
                }
                _ = try await freeAlias(alias, for: account.id)
                var changes: [StoreChange] = []
                if current != nil { changes.append(.removeAccount) }
                changes += [.putAccount(account), .putKeyslot(slot)]
                return try await apply(changes + tokens, to: account.id, retiringKeysOf: current)
            }
            await end(retired, of: account.id)
        } catch {
            await discard(slot, of: account)
            throw error
        }
        await endRetiredKeys(at: keyServiceURL)
        return vaultKey
    }

    /// Stores a refresh token in an account that exists. Its ways in, vault key and items stay as they are.
    ///
    /// - Parameter method: what opens the account. A recovery code is to be replaced afterwards.
    /// - Throws: ``VaultError`` with code `accountNotFound`; what ``open(_:with:)`` throws; ``StoreError``:
    ///   `busy`, `unreadable`, `corrupt`.
    package func replaceRefreshToken(
        _ token: RefreshToken, with method: UnlockMethod, alias: String?
    ) async throws -> VaultKey {
        guard let account = try await store.account(token.account) else {
            throw VaultError(.accountNotFound, "The account \(token.account) is not registered here.")
        }
        let vaultKey = try await open(account, with: method)
        try await replaceRefreshToken(token, in: account, vaultKey: vaultKey, alias: alias)
        return vaultKey
    }

    /// As ``replaceRefreshToken(_:with:alias:)``, for an account that was opened with `vaultKey`.
    ///
    /// - Returns: the refresh token that was stored until then, if there was one that could be read.
    @discardableResult
    package func replaceRefreshToken(
        _ token: RefreshToken, in account: Account, vaultKey: VaultKey, alias: String?
    ) async throws -> RefreshToken? {
        let id = account.id
        let alias = try await freeAlias(alias, for: id)
        let tokens = try await sealed(token, vaultKey)
        return try await withLock(on: id, storesFirst: true) { _ in
            // That took its time: the account may be another one by now, with another vault key.
            guard var current = try await store.account(id), current.deviceSecret == account.deviceSecret else {
                throw VaultError(.busy, "Another program registered the account anew meanwhile. Try again.")
            }
            _ = try await freeAlias(alias, for: id)
            // Whoever was logged out everywhere has none.
            let old = try? await refreshToken(of: id, vaultKey: vaultKey)
            current.alias = alias ?? current.alias
            current.email = token.identity.email
            current.preferredUsername = token.identity.preferredUsername
            current.method = token.method
            current.clientID = token.clientID
            current.layout = token.layout
            try await store.apply([.putAccount(current)] + tokens, to: id)
            return old
        }
    }

    /// Deletes an account with all that is stored of it, and ends its keys at the key service. What could not be ended is
    /// told (see ``onNotice(_:)``) and tried again later: see ``endRetiredKeys(at:within:)``.
    package func delete(_ id: AccountID) async throws {
        await AttemptRecords.forget(in: store, at: clock.now, usersAt: id.issuer)
        let retired = try await withLock(on: id) { _ in try await remove(id) }
        await end(retired, of: id)
    }

    /// Removes an account from the store. To be called under its lock.
    package func remove(_ id: AccountID) async throws -> JustRetired {
        let current: Account?
        do {
            current = try await store.account(id)
        } catch let error as StoreError where error.code == .corrupt {
            current = nil  // A damaged account can be deleted all the same.
        }
        return try await apply([.removeAccount], to: id, retiringKeysOf: current)
    }

    /// The refresh token as it is stored, with what is known of the person.
    package func refreshToken(of id: AccountID, vaultKey: VaultKey) async throws -> RefreshToken {
        let items = TokenItems(store: store, id: id, vaultKey: vaultKey)
        let stored = try await store.account(id)
        guard let account = stored, let credential = try await items.credential() else {
            let name = stored?.displayName ?? id.subject
            throw VaultError(
                .notLoggedIn, "\(name) has no refresh token on this machine. Register again: vault register")
        }
        var token = RefreshToken(
            credential, account: id, method: account.method, clientID: account.clientID,
            identity: try await identity(of: account, vaultKey: vaultKey), accessToken: try await items.accessToken(),
            idToken: try await items.idToken())
        token.layout = account.layout
        return token
    }

    /// What is known of the person.
    package func identity(of account: Account, vaultKey: VaultKey) async throws -> RefreshToken.Identity {
        let items = TokenItems(store: store, id: account.id, vaultKey: vaultKey)
        let claims = try await items.claims() ?? Array("{}".utf8)
        let object = (try? JSONSerialization.jsonObject(with: Data(claims))) as? [String: Any]
        return RefreshToken.Identity(
            email: account.email, preferredUsername: account.preferredUsername, name: object?["name"] as? String,
            claimsJSON: claims)
    }

    /// The names of the items that an app stored itself.
    package func itemsOfApps(of id: AccountID) async throws -> [ItemName] {
        try await store.itemNames(of: id).filter { !$0.isReserved }
    }

    /// What is lost when an account is registered anew under a new password: an app's own items, and the other ways in.
    package func losses(with account: Account?) async throws -> [String] {
        guard let account else { return [] }
        let ways = account.keyslots.filter { !$0.kind.isOfPassword }
        return try await itemsOfApps(of: account.id).map(\.rawValue) + ways.map { $0.label ?? $0.kind.displayName }
    }

    private func sealed(_ token: RefreshToken, _ vaultKey: VaultKey) async throws -> [StoreChange] {
        let items = TokenItems(store: store, id: token.account, vaultKey: vaultKey)
        var changes = [
            try await items.put(token.credential), try await items.put(claimsJSON: token.identity.claimsJSON),
            .noteTokens(
                scope: token.accessToken?.scope ?? token.scope, accessTokenExpiresAt: token.accessToken?.expiresAt),
            .endRefresh, .noteOnline(clock.now),
        ]
        if let accessToken = token.accessToken {
            changes.append(try await items.put(accessToken))
        } else {
            // Removing it also removes the date when it ends: that comes before the new date.
            changes.insert(.removeItem(.accessToken), at: 0)
        }
        if let idToken = token.idToken {
            changes.append(try await items.put(idToken: idToken))
        } else {
            changes.append(.removeItem(.idToken))
        }
        return changes + changesToShow(token.identity.claimsJSON)
    }
}
