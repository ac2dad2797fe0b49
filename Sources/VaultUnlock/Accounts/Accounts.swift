internal import Foundation
internal import KeyServiceClient
package import Logging
package import VaultBase
package import VaultCrypto
package import VaultStorage

/// The work on stored accounts: finding, registering, opening and deleting them, and changing their password.
package struct Accounts: Sendable {
    package let store: any SecureStore
    package let clock: any WallClock
    /// The log. It gets nothing secret.
    package let logger: Logger
    /// The claims of the ID token that a list of accounts shows without opening an account. See
    /// `VaultConfiguration.displayClaims`.
    package var displayClaims: [String]?
    /// The cost of a new password's Argon2id.
    let argon2: Argon2Parameters
    /// The cost of a guess at a keyslot that needs no key service.
    let offlineCost: Argon2Parameters
    /// The app's limit for the time without the network in which an account opens, in seconds.
    private let ownMaximumAge: Double
    /// The policies of the app and the machine.
    package var obeyed: ObeyedPolicy
    /// Whether each user has the same number here as on the machine. In a user namespace of its own, each user can be
    /// root, and can hide or replace the machine's policy.
    package var knowsAllUsers = UserNamespace.hasAllUsers
    /// The base URL of the key service for new accounts; empty for none.
    let keyServiceURL: String
    /// Whether new accounts have no key service. See `VaultConfiguration.registersWithoutKeyService`.
    package var registersWithoutKeyService = false
    /// Whether an account is opened only to move it to a key service. Rules of the policy that need a key service do
    /// not stop that.
    var isMoving = false
    /// The clients of the key services.
    package var services: KeyServices
    /// The lowest version of the key service's protocol for new accounts. See `VaultConfiguration.keyServiceProtocol`.
    package var newAccountProtocol = 2
    /// Whether an access token may go to the key service beside other work, to list this device there. See
    /// `VaultConfiguration.listsDevices`.
    package var listsDevices = false
    /// The audience of the access tokens that go to the key service.
    package var keyServiceAudience = KeyServiceAudience.keyServiceURL
    /// Gets the access tokens that go to the key service; nil if there is no issuer to ask.
    package var ownerTokens: (any OwnerTokenSource)?
    /// The access token of a registration, which is not stored yet.
    var tokenAtHand: AccessToken?
    /// The key that ``tokenAtHand`` is bound to; nil if the key is stored, or the token is not bound.
    var proofKeyAtHand: [UInt8]?
    /// Whether a new key may be claimed with the access token that the work under way gets next.
    var claimsLater = false
    /// The account's present vault key, while a new keyslot gets another one. It opens what is stored until then.
    var presentVaultKey: VaultKey?
    /// The signatures of new keys.
    let newClaims = NewClaims()
    /// The task that puts keys on the list of devices.
    let claiming = ClaimingTask()
    /// The renewals of keyslots that wait for an access token.
    let renewals = WaitingRenewals()
    /// The tasks that send confirmations.
    let confirming = ConfirmingTasks()
    /// The longest wait for a key service in work that the person did not ask for: the question about a revocation,
    /// confirmations, and the end of old keys.
    package var timeout = Duration.seconds(5)
    /// The clock that limits waits and counts the pauses before something is tried again. It also measures the policy's
    /// limits of sessions.
    package let timer: any Clock<Duration>
    /// The time that nobody can set, for the limits of a session.
    package var steady: SteadyClock
    /// The handlers of notices for the person.
    let notices = AccountNotices()
    /// The history of keyslots that an app may still hold.
    let history = KeyslotHistory()
    /// Tells when the program may stop without losing a renewed token.
    package var stopGuard: StopGuard { unstored.stopGuard }
    /// The renewed tokens that no session on this store could store yet.
    package let unstored: UnstoredTokens

    package init(
        store: any SecureStore, clock: any WallClock, argon2: Argon2Parameters,
        offlineCost: Argon2Parameters = .withoutKeyService,
        offlineMaximumAge: Duration = .seconds(14 * 86_400),
        policy: VaultPolicy, keyServiceURL: String, timer: any Clock<Duration> = ContinuousClock(),
        logger: Logger = .silent, services: KeyServices
    ) {
        self.store = store
        self.timer = timer
        steady = SteadyClock(timer)
        self.logger = logger
        unstored = UnstoredTokens(retryClock: timer, logger: logger)
        self.clock = clock
        self.argon2 = argon2
        self.offlineCost = offlineCost
        ownMaximumAge = Double(offlineMaximumAge.components.seconds)
        obeyed = ObeyedPolicy(policy)
        self.keyServiceURL = keyServiceURL
        self.services = services
    }

    /// The policies of the app and the machine as they are now, combined: the stricter rule of each kind.
    package var policy: VaultPolicy { obeyed.latest.policy }

    /// The longest time without the network in which an account opens, in seconds.
    var offlineMaximumAge: Double {
        min(ownMaximumAge, policy.maximumOfflineDays.map { Double($0) * 86_400 } ?? ownMaximumAge)
    }

    /// Runs `body` with the account's lock. Stores a held renewed token first, if possible.
    ///
    /// - Parameter storesFirst: whether `body` must not run if that token cannot be stored: see ``UnstoredTokens``.
    package func withLock<R: Sendable>(
        on id: AccountID, storesFirst: Bool = false, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        try await unstored.withLock(on: id, in: store, storesFirst: storesFirst, body)
    }

    package func checkKeyService() async throws {
        try requireChoiceOfKeyService()
        try requireAllowed(keyService: keyServiceURL)
        guard !keyServiceURL.isEmpty else { return }
        try await services.released(keyServiceURL).checkReachable()
        try await checkKeyServiceProtocol()
        // Before the person signs in.
        guard !listsDevices, let lists = try services.deviceLists(keyServiceURL),
            // A service of version 1 has no such answer. Where a key is made with version 2, it is asked again.
            (try? await lists.claimTime()) != nil
        else { return }
        throw VaultError.mustListDevices
    }

    /// As ``register(_:opening:alias:replacingItems:keyServiceToken:)``, with a new password.
    ///
    /// - Parameter skipsNewPasswordRule: whether the password may be easy to guess.
    package func register(
        _ token: SignInResult, newPassword: borrowing SecretBytes, alias: String?, replacingItems: Bool,
        skipsNewPasswordRule: Bool = false, keyServiceToken: AccessToken? = nil
    ) async throws -> VaultKey {
        let first = FirstUnlockMethod.password(
            SharedSecret(try newPassword.copy()), skipsNewPasswordRule: skipsNewPasswordRule)
        return try await register(
            token, opening: first, alias: alias, replacingItems: replacingItems, keyServiceToken: keyServiceToken)
    }

    /// Stores a refresh token under a first unlock method. An existing account gets a new vault key, so its old items
    /// are lost.
    ///
    /// - Parameters:
    ///   - first: the one unlock method that the account then has.
    ///   - replacingItems: whether an app's own items and the other unlock methods may be lost.
    ///   - keyServiceToken: the access token for ``audienceForRegistration()``; nil to use the one of the sign-in.
    /// - Throws: ``VaultError`` with code `accountExists` if they may not: ask the person to confirm.
    ///   `forbiddenByPolicy`, `passwordUnusable`: choose another password. `keyServiceUnavailable`, `busy`: try again
    ///   later. `configurationInvalid`: correct the setting. `storeUnreadable`: free disk space. `storeCorrupt`:
    ///   restore a backup. For hardware also its errors. Then nothing was changed.
    package func register(
        _ token: SignInResult, opening first: FirstUnlockMethod, alias: String?, replacingItems: Bool,
        keyServiceToken: AccessToken? = nil
    ) async throws -> VaultKey {
        try requireAllowed(issuer: token.account.issuer, method: token.method)
        try requireChoiceOfKeyService()
        try requireAllowed(keyService: keyServiceURL)
        let names = [token.identity.email, token.identity.preferredUsername, token.identity.name, alias]
            .compactMap(\.self)
        try require(first, of: names)
        try await requirePolicyInSight()
        let alias = try await freeAlias(alias, for: token.account)
        let existing = try await store.account(token.account)
        let losses = try await losses(with: existing)
        guard losses.isEmpty || replacingItems else {
            throw VaultError(
                .accountExists,
                "The account is registered here already. A new password would delete: \(losses.joined(separator: ", ")). Log in to the account, or confirm the loss."
            )
        }
        let account = Account(
            id: token.account, alias: alias ?? existing?.alias, email: token.identity.email,
            preferredUsername: token.identity.preferredUsername, method: token.method, clientID: token.clientID,
            layout: token.layout, keyServiceURL: keyServiceURL,
            deviceSecret: try SecretBytes.random(count: 32).withUnsafeBytes { Array($0) },
            createdAt: existing?.createdAt ?? clock.now)
        let vaultKey = try VaultKey.random()
        var making = self
        making.tokenAtHand = keyServiceToken ?? token.accessToken
        making.proofKeyAtHand = token.credential.proofKey
        let slot = try await making.firstKeyslot(first, of: account, names, vaultKey)
        FaultPoint.keyslotMade.reach()
        do {
            let tokens = try await sealed(token, vaultKey)
            let retired = try await withLock(on: account.id) { _ in
                // Making the keyslot took time. The account must still be as it was checked above.
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
                changes += StoreChange.keeping(current?.unsealedMetadata)
                changes += tokens + [try VaultKeyRecord(store: store, account: account.id).noting(vaultKey)]
                // The new key belongs on the list, too.
                if current != nil, try await store.item(.deviceList, of: account.id) != nil {
                    changes.append(try await listNote(of: account, vaultKey))
                }
                return try await apply(changes, to: account.id, retiringKeysOf: current, for: account)
            }
            await end(retired, of: account.id)
        } catch {
            await discard(slot, of: account, vaultKey)
            await first.forget(slot)
            throw error
        }
        await endRetiredKeys(at: keyServiceURL)
        await notePolicy()
        return vaultKey
    }

    /// Stores a refresh token in an existing account. Its unlock methods, vault key and items stay as they are.
    ///
    /// - Parameter method: the unlock method. After a recovery code, make a new code.
    /// - Throws: ``VaultError`` with code `accountNotFound` (register) and the errors of ``open(_:with:)``.
    ///   ``StoreError`` with code `busy` or `unreadable` (try again) or `corrupt` (restore a backup).
    package func replaceRefreshToken(
        _ token: SignInResult, with method: UnlockMethod, alias: String?
    ) async throws -> VaultKey {
        guard let account = try await store.account(token.account) else {
            throw VaultError(
                .accountNotFound, "The account \(token.account) is not registered here. Register it first.")
        }
        let vaultKey = try await open(account, with: method)
        try await replaceRefreshToken(token, in: account, vaultKey: vaultKey, alias: alias)
        return vaultKey
    }

    /// As ``replaceRefreshToken(_:with:alias:)``, for an account that was opened with `vaultKey`.
    ///
    /// - Returns: the old refresh token, if there was one and it could be read.
    @discardableResult
    package func replaceRefreshToken(
        _ token: SignInResult, in account: Account, vaultKey: VaultKey, alias: String?
    ) async throws -> SignInResult? {
        let id = account.id
        let alias = try await freeAlias(alias, for: id)
        let tokens = try await sealed(token, vaultKey)
        return try await withLock(on: id, storesFirst: true) { _ in
            // Another program may have registered the account again meanwhile, with another vault key.
            guard var current = try await store.account(id), current.deviceSecret == account.deviceSecret else {
                throw VaultError(.busy, "Another program registered the account again meanwhile. Try again.")
            }
            _ = try await freeAlias(alias, for: id)
            try await VaultKeyRecord(store: store, account: id).require(vaultKey)
            // After a logout everywhere there is no old token.
            let old = try? await refreshToken(of: id, vaultKey: vaultKey)
            current.alias = alias ?? current.alias
            current.email = token.identity.email
            current.preferredUsername = token.identity.preferredUsername
            current.method = token.method
            current.clientID = token.clientID
            current.layout = token.layout
            try await store.apply([.putAccount(current)] + tokens, to: id, sealedUnder: vaultKey)
            return old
        }
    }

    /// Deletes an account with all its data, and ends its keys at the key service. If a key cannot be ended, a notice
    /// tells the person (see ``onNotice(_:)``). Another try follows later: see ``endRetiredKeys(at:within:)``.
    ///
    /// - Parameter vaultKey: as for ``remove(_:vaultKey:)``.
    package func delete(_ id: AccountID, vaultKey: VaultKey? = nil) async throws {
        await AttemptRecords.forget(in: store, at: clock.now, usersAt: id.issuer)
        let retired = try await withLock(on: id) { _ in try await remove(id, vaultKey: vaultKey) }
        await end(retired, of: id)
    }

    /// Removes an account from the store. Must be called under the account's lock.
    ///
    /// - Parameter vaultKey: the account's vault key, if the account is open. Without it the keys of recovery codes and
    ///   hardware cannot be ended any more.
    package func remove(_ id: AccountID, vaultKey: VaultKey? = nil) async throws -> JustRetired {
        let current: Account?
        do {
            current = try await store.account(id)
        } catch let error as StoreError where error.code == .corrupt {
            current = nil  // A damaged account can still be deleted.
        }
        return try await apply([.removeAccount], to: id, retiringKeysOf: current, vaultKey)
    }

    /// Returns the stored refresh token with the person's identity.
    package func refreshToken(of id: AccountID, vaultKey: VaultKey) async throws -> SignInResult {
        let items = TokenItems(store: store, id: id, vaultKey: vaultKey)
        let stored = try await store.account(id)
        guard let account = stored, let credential = try await items.credential() else {
            throw VaultError.noRefreshToken(id, stored)
        }
        var token = SignInResult(
            credential, account: id, method: account.method, clientID: account.clientID,
            identity: try await identity(of: account, vaultKey: vaultKey), accessToken: try await items.accessToken(),
            idToken: try await items.idToken())
        token.layout = account.layout
        return token
    }

    /// Returns the person's identity.
    package func identity(of account: Account, vaultKey: VaultKey) async throws -> SignInResult.Identity {
        let items = TokenItems(store: store, id: account.id, vaultKey: vaultKey)
        let claims = try await items.claims() ?? Array("{}".utf8)
        let object = (try? JSONSerialization.jsonObject(with: Data(claims))) as? [String: Any]
        return SignInResult.Identity(
            email: account.email, preferredUsername: account.preferredUsername, name: object?["name"] as? String,
            claimsJSON: claims)
    }

    package func itemsOfApps(of id: AccountID) async throws -> [ItemName] {
        try await store.itemNames(of: id).filter { !$0.isReserved }
    }

    /// Returns what a new registration under a new password deletes: an app's own items, and the other unlock methods.
    package func losses(with account: Account?) async throws -> [String] {
        guard let account else { return [] }
        let ways = account.keyslots.filter { !$0.kind.isOfPassword }
        return try await itemsOfApps(of: account.id).map(\.rawValue) + ways.map { $0.label ?? $0.kind.displayName }
    }

    private func sealed(_ token: SignInResult, _ vaultKey: VaultKey) async throws -> [StoreChange] {
        let items = TokenItems(store: store, id: token.account, vaultKey: vaultKey)
        var changes = [
            try await items.put(token.credential), try await items.put(claimsJSON: token.identity.claimsJSON),
            .noteTokens(
                scope: token.accessToken?.scope ?? token.scope, type: token.accessToken?.tokenType,
                accessTokenExpiresAt: token.accessToken?.expiresAt),
            .endRefresh, .noteOnline(clock.now),
        ]
        if let accessToken = token.accessToken {
            changes.append(try await items.put(accessToken))
        } else {
            // This also removes the date of the end, so it must come before the new date.
            changes.insert(.removeItem(.accessToken), at: 0)
        }
        if let idToken = token.idToken {
            changes.append(try await items.put(idToken: idToken))
        } else {
            changes.append(.removeItem(.idToken))
        }
        changes += await items.confirmed(at: nil, now: clock.now)
        return changes + changesToShow(token.identity.claimsJSON)
    }
}
