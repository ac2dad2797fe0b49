internal import OpenIDConnect
public import VaultCrypto
internal import VaultStorage

extension Auth {
    /// What issues the tokens of an account at a backend.
    func makeBackendIssuer(_ source: IssuerSource) throws -> any TokenIssuer {
        let layout: BackendLayout
        do {
            layout = try source.backendLayout(settings)
        } catch let error as VaultError {
            // The account opens all the same: only what needs the backend does not work.
            return RefusingIssuer(error: error)
        }
        let key = source.key
        let connection = BackendConnection(try ServerEndpoint(key.issuer), transport: transport)
        return switch key.method {
        case .backend: BrowserBackend(connection: connection, layout: layout.browser, clock: accounts.clock)
        case .passwordBackend: PasswordBackend(connection: connection, layout: layout.password, clock: accounts.clock)
        default:
            ServerIssuer(
                server: Server(connection: connection, layout: layout.server, clock: accounts.clock),
                method: key.method, clientID: key.clientID)
        }
    }

    /// Changes how an account signs in at its server: from an API token to OAuth, mostly. The account, its password and
    /// its items stay, and it is open afterwards.
    ///
    /// The password is checked first. Then the person signs in anew and has to be the same one; only then the new token
    /// takes the old one's place, in one step, and the server is asked to end the old one.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: the account's password here, not the one at the server.
    ///   - way: how to sign in from now on: ``ServerSignIn/Choice/oauth`` for OAuth alone.
    /// - Returns: nil when the server ended the old token, or why it did not. The new one counts in either case.
    /// - Throws: ``VaultError``: what ``unlock(userID:password:)`` and ``signIn(_:)`` throw, `configurationInvalid` when
    ///   the account does not belong to a server, `tokenInvalid` when another person signed in. Then nothing was changed.
    @discardableResult
    public func switchMethod(
        userID: String, password: borrowing SecretBytes, to way: ServerSignIn
    ) async throws -> VaultError? {
        let account: Account
        let vaultKey: VaultKey
        do {
            account = try await accounts.find(userID, issuer: issuerOfAccounts)
            guard account.method == .serverToken || account.method == .serverOAuth else {
                throw VaultError(
                    .configurationInvalid,
                    "\(account.displayName) does not sign in at a server with API tokens and OAuth: there is nothing to choose."
                )
            }
            vaultKey = try await accounts.open(account, with: .password(password))
        } catch {
            throw VaultError.converting(error)
        }
        let new = try await run(way, issuer: account.id.issuer, layout: account.layout)
        guard new.account == account.id else {
            _ = await revoke(new)
            throw VaultError(
                .tokenInvalid, "Another person signed in than \(account.displayName). Nothing was changed.")
        }
        let old: RefreshToken?
        do {
            old = try await accounts.replaceRefreshToken(new, in: account, vaultKey: vaultKey, alias: nil)
        } catch {
            _ = await revoke(new)
            throw VaultError.converting(error)
        }
        _ = try await converting { try await open(new, vaultKey: vaultKey) }
        guard let old, old.value != new.value else { return nil }
        return await revoke(old)
    }
}

extension Account {
    /// Whether it belongs to the issuer of the settings. A backend's address may be written there in other ways than it
    /// is stored; an OpenID provider's issuer may not. Nil or empty stands for every issuer, here and everywhere.
    package func belongs(to issuer: String?) -> Bool {
        guard let issuer, !issuer.isEmpty, id.issuer != issuer else { return true }
        guard method != .openIDConnect, let endpoint = try? ServerEndpoint(issuer) else { return false }
        return id.issuer == endpoint.url
    }
}
