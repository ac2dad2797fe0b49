public import Foundation
internal import OpenIDConnect
public import VaultCrypto
public import VaultHTTP
public import VaultStorage

/// Logging in and out, and the tokens of whoever is logged in. One person at a time is logged in per `Auth`.
public actor Auth {
    /// What the login at the identity provider needs.
    public struct Settings: Sendable {
        /// The provider's issuer URL.
        public var issuer: String
        /// The client's id there; a public client with PKCE.
        public var clientID: String
        /// The scopes asked for.
        public var scopes: [String]
        /// Where the provider sends the browser back to; nil for a free port on 127.0.0.1.
        public var redirectURI: String?

        public init(issuer: String, clientID: String, scopes: [String], redirectURI: String?) {
            self.issuer = issuer
            self.clientID = clientID
            self.scopes = scopes
            self.redirectURI = redirectURI
        }
    }

    enum State {
        case loggedOut
        /// Logged in at the provider, and not stored yet.
        case unstored(RefreshToken)
        case open(Session)
    }

    private(set) var state = State.loggedOut
    private var providers: [[String]: OpenIDProvider] = [:]
    /// Sealed tokens that the provider renewed and a session could not store: the account's next session does.
    private var uncommitted: [AccountID: RefreshTransaction.Uncommitted] = [:]
    private var redirects: AsyncStream<String>.Continuation?
    private let settings: Settings?
    let accounts: Accounts
    private let transport: any HTTPTransport

    /// - Parameter settings: nil for an app that only opens accounts that exist.
    public init(settings: Settings?, accounts: Accounts, transport: any HTTPTransport) {
        self.settings = settings
        self.accounts = accounts
        self.transport = transport
    }

    // MARK: - Logging in

    /// Logs in at the identity provider, in a browser. Nothing is stored yet: pass the result to
    /// `storage.storeRefreshToken(_:withNewPassword:)`.
    ///
    /// - Parameter userAgent: shows the login to the person.
    /// - Throws: ``VaultError``: `cancelled`, `identityProviderUnavailable`, `tokenInvalid`, `configurationInvalid`.
    @discardableResult
    public func performOpenIDConnectLogin(using userAgent: any UserAgent) async throws -> RefreshToken {
        guard let settings, !settings.issuer.isEmpty, !settings.clientID.isEmpty else {
            throw VaultError(.configurationInvalid, "The issuer and the client id are needed to log in at a provider.")
        }
        let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
        redirects?.finish()
        // A redirect to a port of this machine comes to the listener, and not through the app.
        redirects = try LoopbackRedirect(settings.redirectURI) == nil ? continuation : nil
        defer { continuation.finish() }
        let login = BrowserLogin(
            provider: provider(issuer: settings.issuer, clientID: settings.clientID), issuer: settings.issuer,
            clientID: settings.clientID, scopes: settings.scopes, redirectURI: settings.redirectURI,
            clock: accounts.clock)
        let token = try await converting { try await login.run(using: userAgent, redirects: stream) }
        await change(to: .unstored(token))
        return token
    }

    /// Hands over the URL that the provider redirected to, for an app that receives it itself (a custom scheme).
    ///
    /// - Returns: false when no login is waiting for one.
    @discardableResult
    public func handleRedirect(url: URL) -> Bool {
        guard let redirects, case .enqueued = redirects.yield(url.absoluteString) else { return false }
        return true
    }

    /// Logs in again with the password: one call to the key service, and a fresh access token from the provider.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: as typed, UTF-8. Typing it wrong costs one of the few guesses at the key service.
    /// - Throws: ``VaultError``: `accountNotFound`, `accountAmbiguous`, `wrongSecret`, `keyLocked`,
    ///   `keyServiceUnavailable`, and what ``Session/accessToken(forceRefresh:minimumValidity:)`` throws.
    @discardableResult
    public func login(userID: String, password: borrowing SecretBytes) async throws -> Session {
        let session = try await unlock(userID: userID, password: password)
        _ = try await session.accessToken(forceRefresh: true)
        return session
    }

    /// Opens an account with the password and asks the provider for nothing yet.
    @discardableResult
    public func unlock(userID: String, password: borrowing SecretBytes) async throws -> Session {
        let account: Account
        do {
            account = try await accounts.find(userID, issuer: settings?.issuer)
        } catch {
            throw VaultError.converting(error)
        }
        return try await unlock(account, password: password)
    }

    /// As ``unlock(userID:password:)``, for an account that was found already.
    @discardableResult
    public func unlock(_ account: Account, password: borrowing SecretBytes) async throws -> Session {
        do {
            // Discovery takes its time while Argon2id takes its own. Whether it fails is seen when it is needed.
            let provider = provider(issuer: account.id.issuer, clientID: account.clientID)
            Task { await provider.warmUp() }
            let vaultKey = try await accounts.open(account, password: password)
            return await open(account.id, clientID: account.clientID, vaultKey: vaultKey)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Makes an account whose vault key is at hand the one that is logged in.
    package func open(_ id: AccountID, clientID: String, vaultKey: VaultKey) async -> Session {
        // First of all the old session ends: the new one may have to store what that one could not.
        await change(to: .loggedOut)
        let session = Session(
            id: id, vaultKey: vaultKey, accounts: accounts, provider: provider(issuer: id.issuer, clientID: clientID),
            uncommitted: uncommitted.removeValue(forKey: id))
        await change(to: .open(session))
        return session
    }

    // MARK: - While logged in

    /// Whether somebody is logged in.
    public var isLoggedIn: Bool {
        get async {
            switch state {
            case .loggedOut: false
            case .unstored: true
            case .open(let session): await session.isOpen
            }
        }
    }

    /// The open account, if there is one.
    public var session: Session? {
        if case .open(let session) = state { session } else { nil }
    }

    /// A valid access token. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken(forceRefresh: Bool = false) async throws -> AccessToken {
        switch state {
        case .loggedOut:
            throw VaultError(.notLoggedIn, "Nobody is logged in.")
        case .unstored(let token):
            guard !forceRefresh, let accessToken = token.accessToken,
                accessToken.isValid(for: .seconds(60), at: accounts.clock.now)
            else {
                throw VaultError(.notLoggedIn, "Store the refresh token first: only then can it be exchanged safely.")
            }
            return accessToken
        case .open(let session):
            return try await session.accessToken(forceRefresh: forceRefresh)
        }
    }

    /// The refresh token of whoever is logged in.
    public var refreshToken: RefreshToken {
        get async throws {
            switch state {
            case .loggedOut: throw VaultError(.notLoggedIn, "Nobody is logged in.")
            case .unstored(let token): token
            case .open(let session): try await session.refreshToken()
            }
        }
    }

    // MARK: - The parts

    func change(to new: State) async {
        let old = state
        state = new
        guard case .open(let session) = old else { return }
        await session.lock()
        if let rest = await session.takeUncommitted() { uncommitted[session.id] = rest }
    }

    func provider(issuer: String, clientID: String) -> OpenIDProvider {
        if let known = providers[[issuer, clientID]] { return known }
        let provider = OpenIDProvider(
            issuer: issuer, clientID: clientID, transport: transport, clock: accounts.clock)
        providers[[issuer, clientID]] = provider
        return provider
    }

    func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }
}
