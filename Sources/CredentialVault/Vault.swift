internal import Foundation
@_exported public import KeyServiceClient
@_exported public import OpenIDConnect
@_exported public import VaultAuth
@_exported public import VaultBackends
@_exported public import VaultBackground
@_exported public import VaultBase
@_exported public import VaultBiometric
@_exported public import VaultCrypto
@_exported public import VaultHTTP
@_exported public import VaultSQLite
@_exported public import VaultStorage
@_exported public import VaultUnlock

/// The main entry point: log in once with OpenID Connect, and later with a password.
///
/// ```swift
/// let vault = try await Vault(VaultConfiguration(
///     issuer: "https://login.example.com", clientID: "my-app", keyServiceURL: "https://keys.example.com"))
/// let token = try await vault.auth.performOpenIDConnectLogin(using: SystemBrowser())
/// try await vault.storage.storeRefreshToken(token, withNewPassword: password)
/// // after the next start:
/// let session = try await vault.auth.login(userID: "alice", password: password)
/// let accessToken = try await session.accessToken()
/// ```
public struct Vault: Sendable {
    /// Logging in and out, and tokens.
    public let auth: any AuthProtocol
    /// The accounts, and their unlock methods.
    public let storage: any StorageProtocol

    private let own: Auth?

    /// Makes a vault from an app's own parts, mostly fakes in tests.
    ///
    /// - Parameters:
    ///   - auth: logs in and out.
    ///   - storage: holds the accounts.
    public init(auth: any AuthProtocol, storage: any StorageProtocol) {
        self.auth = auth
        self.storage = storage
        own = nil
    }

    /// Makes a vault from the vault's own parts.
    package init(auth: Auth, storage: Storage) {
        self.auth = auth
        self.storage = storage
        own = auth
    }

    /// Opens the store and connects the parts of the vault, with the app's own networking. No network is used yet.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - store: the store; nil for SQLite in the configured folder.
    ///   - keyService: the key service; nil for HTTP to the key service that each account was registered with.
    ///   - oprfKeyService: the same key service with protocol version 2. Nil for HTTP, or for none if `keyService`
    ///     is not nil. If it is also a `DeviceListService`, the vault uses its lists of devices.
    ///   - transport: sends the HTTP requests.
    ///   - listening: opens a port for the browser's redirect; nil if no sign-in has a redirect URI with a port.
    ///   - clock: the wall clock.
    ///   - issuers: the app's own kinds of servers, in addition to OpenID providers and ``Backends``.
    /// - Throws: `VaultError` with code `storeUnreadable` or `busy` (try again), `storeCorrupt` (restore a backup),
    ///   `configurationInvalid`, also for the machine's policy file (correct the setting), or `unsafeFileSystem` (move
    ///   the store).
    public init(
        _ configuration: VaultConfiguration, store: (any SecureStore)? = nil, keyService: (any KeyService)? = nil,
        oprfKeyService: (any OPRFKeyService)? = nil, transport: any HTTPTransport,
        listening: (any RedirectListening)?, clock: any WallClock = SystemWallClock(),
        issuers: [any IssuerKind] = []
    ) async throws {
        try await self.init(
            configuration, obeying: ObeyedPolicy(configuration.policy, watching: WatchedPolicy()), store: store,
            keyService: keyService, oprfKeyService: oprfKeyService, transport: transport,
            listening: listening, clock: clock, issuers: issuers)
    }

    /// As ``init(_:store:keyService:oprfKeyService:transport:listening:clock:issuers:)``.
    ///
    /// - Parameter policy: the policies of the configuration and the machine.
    package init(
        _ configuration: VaultConfiguration, obeying policy: ObeyedPolicy, store: (any SecureStore)?,
        keyService: (any KeyService)?, oprfKeyService: (any OPRFKeyService)? = nil,
        transport: any HTTPTransport, listening: (any RedirectListening)?,
        clock: any WallClock, issuers: [any IssuerKind]
    ) async throws {
        let opened: any SecureStore
        _ = try configuration.limits.checked()
        if let store {
            opened = store
        } else {
            opened = try await Self.openStore(
                configuration.folder ?? Self.standardFolder, allowsFUSE: configuration.allowsFUSE)
        }
        let opener = try SessionOpener(
            configuration, obeying: policy, store: opened, keyService: keyService,
            oprfKeyService: oprfKeyService, transport: transport, clock: clock, issuers: issuers)
        let auth = Auth(
            settings: try Auth.Settings(configuration), opener: opener, listening: listening ?? NoRedirects())
        self.init(
            auth: auth, storage: Storage(accounts: opener.accounts, auth: auth, issuer: configuration.issuerOfAccounts))
    }

    /// The vault's own login, which can do more than an app's.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` for a vault from an app's own parts.
    package var ownAuth: Auth {
        get throws {
            guard let own else {
                throw VaultError(
                    .configurationInvalid,
                    "This vault was made from an app's own parts, which do not support this call.")
            }
            return own
        }
    }

    /// The accounts behind ``storage``.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` for a vault from an app's own parts.
    package var accounts: Accounts { get throws { try ownAuth.accounts } }

    /// `$XDG_DATA_HOME/credential-vault`, by default `~/.local/share/credential-vault`.
    public static var standardFolder: String {
        let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (data ?? homeFolder + "/.local/share") + "/credential-vault"
    }

    /// `$HOME`, as the XDG specification says. If it is not set, the system's home folder of the user.
    package static var homeFolder: String {
        ProcessInfo.processInfo.environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
    }

    /// SQLite blocks, so it is not opened on the cooperative thread pool.
    private static func openStore(_ folder: String, allowsFUSE: Bool) async throws -> any SecureStore {
        do {
            return try await onThread { try SQLiteStore(folder: folder, allowsFUSE: allowsFUSE) }
        } catch {
            throw VaultError.converting(error)
        }
    }
}
