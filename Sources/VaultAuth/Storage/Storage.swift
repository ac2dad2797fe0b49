public import VaultCrypto
public import VaultStorage

/// The accounts on this machine and what is sealed in them, in a store and at key services.
public struct Storage: StorageProtocol {
    package let accounts: Accounts
    private let auth: Auth
    private let issuer: String?

    /// - Parameters:
    ///   - accounts: the operations underneath.
    ///   - auth: opens the sessions.
    ///   - issuer: considers only this issuer's accounts; nil or empty for those of every issuer.
    package init(accounts: Accounts, auth: Auth, issuer: String?) {
        self.accounts = accounts
        self.auth = auth
        self.issuer = issuer
    }

    /// The policy of the app and of the machine. For each rule, the stricter of the two applies.
    public var policy: VaultPolicy { accounts.policy }

    /// Finds out whether a registration could be stored: the store can be written, and the key service answers. Call it
    /// before the person is sent to the browser.
    ///
    /// - Throws: ``VaultError``: `storeUnreadable`, `busy`, `keyServiceUnavailable`, `configurationInvalid`,
    ///   `forbiddenByPolicy` (the key service).
    public func checkReady() async throws {
        try await converting {
            try await accounts.store.checkWritable()
            try await accounts.checkKeyService()
        }
    }

    /// The accounts here (of the configured issuer, when one is), oldest first.
    public func all() async throws -> [Account] {
        try await converting { try await accounts.store.accounts().filter { $0.belongs(to: issuer) } }
    }

    /// One account.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound`.
    public func account(_ id: AccountID) async throws -> Account {
        try await converting { try await accounts.account(id) }
    }

    /// The one account that `userID` means: a subject, alias, e-mail address or preferred user name.
    ///
    /// - Throws: `VaultError` with code `accountNotFound` or `accountAmbiguous`.
    public func account(userID: String) async throws -> Account {
        try await converting { try await accounts.find(userID, issuer: issuer) }
    }

    /// Whether a refresh token is stored for the user. False when there is no such user.
    public func hasRefreshToken(userID: String) async throws -> Bool {
        do {
            let account = try await account(userID: userID)
            return try await converting { try await accounts.store.item(.refreshToken, of: account.id) != nil }
        } catch let error as VaultError where error.code == .accountNotFound {
            return false
        }
    }

    /// Stores a refresh token under a new password and opens the account. A login is stored once: if it was renewed in
    /// the meantime, in its newest form.
    ///
    /// - Parameters:
    ///   - token: what `Auth.performOpenIDConnectLogin(using:)` returned.
    ///   - password: UTF-8. Judge it with ``NewPasswordRule`` first.
    ///   - alias: a name for `userID` parameters.
    ///   - replacingItems: whether items of an app may be lost that are sealed in an account which exists already.
    /// - Throws: `VaultError`: `accountExists` when something would be lost, `passwordUnusable`,
    ///   `keyServiceUnavailable`, `storeUnreadable`. Nothing was changed then.
    @discardableResult
    public func storeRefreshToken(
        _ token: RefreshToken, withNewPassword password: borrowing SecretBytes, alias: String?,
        replacingItems: Bool
    ) async throws -> Session {
        do {
            let password = SharedSecret(try password.copy())
            return try await auth.open(token) { newest in
                try await accounts.register(
                    newest, newPassword: password.bytes, alias: alias, replacingItems: replacingItems)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Stores a refresh token in an account that exists and opens it. Its ways in and its items stay: whoever forgot the
    /// password keeps everything with a PIN, a recovery code or hardware.
    ///
    /// - Parameters:
    ///   - token: the result of a sign-in.
    ///   - method: what opens the account. A recovery code is to be replaced afterwards: see
    ///     ``Session/addRecoveryCode(_:)``.
    ///   - alias: a new alias of the account; nil to keep the alias that it has.
    /// - Throws: `VaultError`: `accountNotFound`, `notEnrolled`, and what opening with an ``UnlockMethod`` throws. Nothing was
    ///   changed then.
    @discardableResult
    public func storeRefreshToken(
        _ token: RefreshToken, with method: UnlockMethod, alias: String?
    ) async throws -> Session {
        do {
            return try await auth.open(token) { newest in
                try await accounts.replaceRefreshToken(newest, with: method, alias: alias)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Opens an account and returns its refresh token, without asking the provider for anything.
    ///
    /// The provider may take a refresh token only once: an app that exchanges it by itself has to store the new one.
    ///
    /// - Throws: ``VaultError``: `accountNotFound`, what opening with an ``UnlockMethod`` throws, and `notLoggedIn` when none is
    ///   stored.
    public func storedRefreshToken(of account: AccountID, with method: UnlockMethod) async throws -> RefreshToken {
        try await converting {
            let vaultKey = try await accounts.open(accounts.account(account), with: method)
            return try await accounts.refreshToken(of: account, vaultKey: vaultKey)
        }
    }

    /// The ways into an account, the usable ones first. Needs no network and no hardware.
    ///
    /// - Throws: ``VaultError``: `accountNotFound`, `storeUnreadable`.
    public func waysIn(of account: AccountID) async throws -> [WayIn] {
        try await converting { try await accounts.waysIn(of: accounts.account(account)) }
    }

    /// Removes a way in, and ends its key at the key service. A key that could not be ended is told in the session updates,
    /// and the next login tries again.
    ///
    /// - Parameters:
    ///   - id: its ``WayIn/id``.
    ///   - account: the account that the way in belongs to.
    /// - Throws: ``VaultError``: `lastWayIn` when nothing would be left that opens the account with the network,
    ///   `notEnrolled`, `accountNotFound`, `storeUnreadable`. Nothing was changed then.
    public func removeWayIn(_ id: String, of account: AccountID) async throws {
        try await converting { try await accounts.removeKeyslot(id, of: account) }
    }

    /// Gives a way in another label.
    ///
    /// - Parameters:
    ///   - id: its ``WayIn/id``.
    ///   - account: the account that the way in belongs to.
    ///   - label: what the person calls it; nil for none.
    /// - Throws: ``VaultError``: `notEnrolled`, `accountNotFound`, `storeUnreadable`. Nothing was changed then.
    public func renameWayIn(_ id: String, of account: AccountID, to label: String?) async throws {
        try await converting { try await accounts.renameKeyslot(id, of: account, to: label) }
    }

    /// Gives an account a new password. After a crash at any point exactly one of the two works.
    public func changePassword(
        userID: String, from old: borrowing SecretBytes, to new: borrowing SecretBytes
    ) async throws {
        do {
            try await accounts.changePassword(of: accounts.find(userID, issuer: issuer), from: old, to: new)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Deletes an account with all that is stored of it, and ends its session.
    ///
    /// - Parameters:
    ///   - account: the account to delete.
    ///   - method: opens the account first, so that the provider can be asked to revoke its refresh token; nil to
    ///     delete it here alone.
    /// - Returns: why the provider did not revoke the token; nil when it did, or was not asked. The account is gone.
    /// - Throws: ``VaultError``: `accountNotFound`, what opening with an ``UnlockMethod`` throws, `storeUnreadable`. The account is
    ///   still here then. With a method, its refresh token may have been revoked.
    @discardableResult
    public func delete(_ account: AccountID, revokingWith method: UnlockMethod?) async throws -> VaultError? {
        try await converting {
            var failure: VaultError?
            let found = try await accounts.account(account)
            if let method {
                failure = try await auth.delete(found, vaultKey: accounts.open(found, with: method))
            } else {
                try await accounts.delete(account)
            }
            await auth.accountWasDeleted(account)
            return failure
        }
    }

    private func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }
}
