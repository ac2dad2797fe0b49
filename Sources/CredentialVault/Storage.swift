/// The accounts on this machine and what is sealed in them. The methods are those of Trifork Identity Manager.
public struct Storage: Sendable {
    /// The operations underneath, for an app that needs more than the methods here.
    public let accounts: Accounts
    private let auth: Auth
    private let issuer: String?

    init(accounts: Accounts, auth: Auth, issuer: String?) {
        self.accounts = accounts
        self.auth = auth
        self.issuer = issuer
    }

    /// The subjects of the accounts here (of the configured issuer, when one is), oldest first.
    public var availableUserIDs: [String] {
        get async throws { try await all().map(\.id.subject) }
    }

    /// The accounts here (of the configured issuer, when one is), oldest first.
    public func all() async throws -> [Account] {
        try await converting { try await accounts.store.accounts().filter { $0.belongs(to: issuer) } }
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
        _ token: RefreshToken, withNewPassword password: borrowing SecretBytes, alias: String? = nil,
        replacingItems: Bool = false
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

    /// Stores a refresh token in an account that exists and opens it. Its password, its other ways in and its items stay.
    ///
    /// - Throws: `VaultError`: `accountNotFound`, `wrongSecret`, `keyLocked`, `keyServiceUnavailable`,
    ///   `storeUnreadable`. Nothing was changed then.
    @discardableResult
    public func storeRefreshToken(
        _ token: RefreshToken, withExistingPassword password: borrowing SecretBytes, alias: String? = nil
    ) async throws -> Session {
        try await storeRefreshToken(token, with: .password(password), alias: alias)
    }

    /// As ``storeRefreshToken(_:withExistingPassword:alias:)``, for an account that is opened in whatever way: whoever
    /// forgot the password keeps everything with a PIN, a recovery code or hardware.
    ///
    /// - Parameter method: what opens the account. A recovery code is to be replaced afterwards: see
    ///   `Accounts.makeRecoveryKeyslot(for:vaultKey:)`.
    /// - Throws: `VaultError`: `accountNotFound`, `notEnrolled`, and what `Accounts.open(_:with:)` throws. Nothing was
    ///   changed then.
    @discardableResult
    public func storeRefreshToken(
        _ token: RefreshToken, with method: UnlockMethod, alias: String? = nil
    ) async throws -> Session {
        do {
            return try await auth.open(token) { newest in
                try await accounts.replaceRefreshToken(newest, with: method, alias: alias)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Opens the account and returns its refresh token, without asking the provider for anything.
    ///
    /// The provider may take a refresh token only once: an app that exchanges it by itself has to store the new one.
    ///
    /// - Throws: `VaultError`: `accountNotFound`, `wrongSecret`, `keyLocked`, `keyServiceUnavailable`,
    ///   `notLoggedIn` when none is stored.
    public func storedRefreshToken(userID: String, password: borrowing SecretBytes) async throws -> RefreshToken {
        do {
            let account = try await accounts.find(userID, issuer: issuer)
            let vaultKey = try await accounts.open(account, with: .password(password))
            return try await accounts.refreshToken(of: account.id, vaultKey: vaultKey)
        } catch {
            throw VaultError.converting(error)
        }
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

    /// Deletes an account with all that is stored of it, and ends its session. Nothing is revoked at the provider: see
    /// `Auth.logoutEverywhere()`.
    public func clear(userID: String) async throws {
        try await converting {
            let id = try await accounts.find(userID, issuer: issuer).id
            try await accounts.delete(id)
            await auth.accountWasDeleted(id)
        }
    }

    private func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }
}
