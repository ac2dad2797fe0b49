public import VaultCrypto
public import VaultStorage
public import VaultUnlock

/// The accounts on this machine and their sealed data, in a store and at key services.
public struct Storage: StorageProtocol {
    package let accounts: Accounts
    let auth: Auth
    let issuer: String?

    /// - Parameters:
    ///   - accounts: does the work.
    ///   - auth: opens the sessions.
    ///   - issuer: the issuer whose accounts are used; nil or empty for all.
    package init(accounts: Accounts, auth: Auth, issuer: String?) {
        self.accounts = accounts
        self.auth = auth
        self.issuer = issuer
    }

    /// The policy of the app and of the machine. For each rule, the stricter of the two applies.
    public var policy: VaultPolicy { accounts.policy }

    /// Checks whether a registration could be stored: the store can be written, and the key service answers. Call it
    /// before the browser opens.
    ///
    /// - Throws: ``VaultError`` with code `storeUnreadable` (free disk space), `busy` (try again),
    ///   `keyServiceUnavailable` (try again later), `configurationInvalid` (correct the setting), or
    ///   `forbiddenByPolicy` for the key service.
    public func checkReady() async throws {
        try await VaultError.converting {
            try await accounts.store.checkWritable()
            try await accounts.checkKeyService()
        }
    }

    /// The accounts on this machine, oldest first. If an issuer is configured, only its accounts.
    public func all() async throws -> [Account] {
        try await VaultError.converting { try await accounts.store.accounts().filter { $0.belongs(to: issuer) } }
    }

    /// Returns one account.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound`: register.
    public func account(_ id: AccountID) async throws -> Account {
        try await VaultError.converting { try await accounts.account(id) }
    }

    /// Returns the account that `userID` names: an alias, subject, e-mail address or preferred user name. A matching
    /// alias wins, then a matching subject, because a server can send any e-mail address and user name.
    ///
    /// - Throws: `VaultError` with code `accountNotFound` (register) or `accountAmbiguous` (name one of
    ///   ``VaultError/accounts``).
    public func account(userID: String) async throws -> Account {
        try await VaultError.converting { try await accounts.find(userID, issuer: issuer) }
    }

    /// Whether a refresh token is stored for the user. False if there is no such user.
    public func hasRefreshToken(userID: String) async throws -> Bool {
        do {
            let account = try await account(userID: userID)
            return try await VaultError.converting {
                try await accounts.store.item(.refreshToken, of: account.id) != nil
            }
        } catch let error as VaultError where error.code == .accountNotFound {
            return false
        }
    }

    /// Stores a refresh token under a new password and opens the account. A login is stored only once. If it was
    /// renewed meanwhile, its newest form is stored.
    ///
    /// The person is then logged in. If another person was logged in, that session ends, with the reason `replaced`.
    ///
    /// - Parameters:
    ///   - token: the result of `Auth.performOpenIDConnectLogin(using:)`.
    ///   - password: UTF-8.
    ///   - alias: a name for `userID` parameters.
    ///   - replacingItems: whether an existing account may lose an app's items and its other unlock methods.
    ///   - skipsNewPasswordRule: whether to accept a password that `NewPasswordRule` finds easy to guess, because the
    ///     app has a rule of its own.
    /// - Throws: `VaultError` with code `accountExists` if something would be lost (ask the person to confirm),
    ///   `passwordUnusable` or `forbiddenByPolicy` (choose another password), `keyServiceUnavailable` (try again
    ///   later), or `storeUnreadable` (free disk space). Then nothing was changed.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, withNewPassword password: borrowing SecretBytes, alias: String?,
        replacingItems: Bool, skipsNewPasswordRule: Bool
    ) async throws -> Session {
        do {
            let password = SharedSecret(try password.copy())
            let keyServiceToken = try await auth.keyServiceToken(of: token)
            return try await auth.open(token) { newest in
                try await accounts.register(
                    newest, newPassword: password.bytes, alias: alias, replacingItems: replacingItems,
                    skipsNewPasswordRule: skipsNewPasswordRule, keyServiceToken: keyServiceToken)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Stores a refresh token in an existing account and opens it. Its unlock methods and its items stay. So a person
    /// who forgot the password keeps everything with a PIN, a recovery code or hardware.
    ///
    /// The person is then logged in. If another person was logged in, that session ends, with the reason `replaced`.
    ///
    /// - Parameters:
    ///   - token: the result of a sign-in.
    ///   - method: the unlock method. After a recovery code, make a new code: see
    ///     ``Session/addRecoveryCode(_:)``.
    ///   - alias: a new alias of the account; nil to keep its alias.
    /// - Throws: `VaultError` with code `accountNotFound` (register) or `notEnrolled` (use another unlock method), and
    ///   the other codes of opening with an ``UnlockMethod``. Then nothing was changed.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, with method: UnlockMethod, alias: String?
    ) async throws -> Session {
        do {
            // A browser may sign in without a question, too.
            return try await auth.open(token, hasSecret: !method.kind.asksNothing) { newest in
                try await accounts.replaceRefreshToken(newest, with: method, alias: alias)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Opens an account and returns its refresh token, without a request to the provider.
    ///
    /// Many providers accept a refresh token only once. An app that exchanges it by itself has to store the new one.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound` (register), the codes of opening with an ``UnlockMethod``,
    ///   and `notLoggedIn` if no token is stored (sign in).
    public func storedRefreshToken(of account: AccountID, with method: UnlockMethod) async throws -> SignInResult {
        try await VaultError.converting {
            let vaultKey = try await accounts.open(accounts.account(account), with: method)
            return try await accounts.refreshToken(of: account, vaultKey: vaultKey)
        }
    }

    /// Returns the unlock methods, the usable ones first. Needs no network and no hardware.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound` (register) or `storeUnreadable` (try again).
    public func keyslotSummaries(of account: AccountID) async throws -> [KeyslotSummary] {
        try await VaultError.converting { try await accounts.keyslotSummaries(of: accounts.account(account)) }
    }

    /// Removes an unlock method, and ends its key at the key service. If the key cannot be ended, the session updates
    /// tell it, and the next login tries again.
    ///
    /// - Parameters:
    ///   - id: the ``KeyslotSummary/id`` of the unlock method.
    ///   - account: the account of the unlock method.
    /// - Throws: ``VaultError`` with code `lastUnlockMethod` if nothing else opens the account with the network (add
    ///   another unlock method first), `notEnrolled`, `accountNotFound`, or `storeUnreadable` (free disk space). Then
    ///   nothing was changed.
    public func removeKeyslot(_ id: String, of account: AccountID) async throws {
        try await VaultError.converting { try await accounts.removeKeyslot(id, of: account) }
    }

    /// Gives an account another alias. Its unlock methods, its items and open sessions stay as they are.
    ///
    /// - Parameters:
    ///   - alias: the alias as the person typed it, 1 to 100 visible characters; nil for none.
    ///   - account: the account.
    /// - Throws: ``VaultError`` with code `aliasTaken` or `configurationInvalid` (choose another alias),
    ///   `accountNotFound` (register), `busy` (try again), or `storeUnreadable` (free disk space). Then nothing was
    ///   changed.
    public func setAlias(_ alias: String?, of account: AccountID) async throws {
        try await VaultError.converting { try await accounts.setAlias(alias, of: account) }
    }

    /// Gives an unlock method another label.
    ///
    /// - Parameters:
    ///   - id: the ``KeyslotSummary/id`` of the unlock method.
    ///   - account: the account of the unlock method.
    ///   - label: the person's name for it; nil for none.
    /// - Throws: ``VaultError`` with code `notEnrolled`, `accountNotFound`, or `storeUnreadable` (free disk space).
    ///   Then nothing was changed.
    public func renameKeyslot(_ id: String, of account: AccountID, to label: String?) async throws {
        try await VaultError.converting { try await accounts.renameKeyslot(id, of: account, to: label) }
    }

    /// Gives an account a new password. After a crash at any point exactly one of the two passwords works.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - old: the present password.
    ///   - new: UTF-8.
    ///   - skipsNewPasswordRule: whether to accept a password that `NewPasswordRule` finds easy to guess, because the
    ///     app has a rule of its own.
    /// - Throws: `VaultError` with code `passwordUnusable` or `forbiddenByPolicy` (choose another password; nothing was
    ///   sent), `accountNotFound`, the codes of opening with an ``UnlockMethod``, `busy` (try again), or
    ///   `storeUnreadable` (free disk space). Then nothing was changed.
    public func changePassword(
        userID: String, from old: borrowing SecretBytes, to new: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws {
        do {
            try await accounts.changePassword(
                of: accounts.find(userID, issuer: issuer), from: old, to: new,
                skipsNewPasswordRule: skipsNewPasswordRule)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Deletes an account with all its data, and ends its session.
    ///
    /// - Parameters:
    ///   - account: the account to delete.
    ///   - method: the unlock method, so that the provider can be asked to revoke its refresh token. Nil
    ///     to delete the account only here.
    /// - Returns: the reason why the provider did not revoke the token; nil if it did, or if it was not asked. The
    ///   account is deleted.
    /// - Throws: ``VaultError`` with code `accountNotFound`, the codes of opening with an ``UnlockMethod``, or
    ///   `storeUnreadable` (free disk space). Then the account still exists. With a method, its refresh token may have
    ///   been revoked.
    @discardableResult
    public func delete(_ account: AccountID, revokingWith method: UnlockMethod?) async throws -> VaultError? {
        try await VaultError.converting {
            var failure: VaultError?
            if let method {
                let found = try await accounts.account(account)
                failure = try await auth.delete(found, vaultKey: accounts.open(found, with: method))
            } else {
                do {
                    _ = try await accounts.account(account)
                } catch let error as StoreError where error.code == .corrupt {
                    // A damaged account can still be deleted.
                }
                try await accounts.delete(account)
            }
            await auth.accountWasDeleted(account)
            return failure
        }
    }
}
