public import VaultAuth
public import VaultBase
public import VaultHTTP
public import VaultStorage

/// Servers other than OpenID providers as issuers of tokens: see ``BackendSignIn``, ``PasswordSignIn`` and
/// ``ServerSignIn``.
public struct Backends: IssuerKind {
    private let layout: BackendLayout
    private let problem: VaultError?
    private let transport: any HTTPTransport
    private let clock: any WallClock

    /// - Parameters:
    ///   - layout: the names of paths and fields at the server of the settings. An account keeps the layout of its
    ///     registration.
    ///   - problem: the reason why `layout` cannot be used. Only calls that need the layout throw this error.
    ///   - transport: sends the requests.
    ///   - clock: tells the time.
    public init(
        layout: BackendLayout = BackendLayout(), problem: VaultError? = nil, transport: any HTTPTransport,
        clock: any WallClock = SystemWallClock()
    ) {
        self.layout = layout
        self.problem = problem
        self.transport = transport
        self.clock = clock
    }

    /// Tells whether the account signs in with one of the methods `backend`, `passwordBackend`, `serverOAuth` and
    /// `serverToken`.
    public func issues(tokensOf key: IssuerKey) -> Bool {
        [.backend, .passwordBackend, .serverOAuth, .serverToken].contains(key.method)
    }

    /// Gives the part of the layout that the method of the account needs, as JSON; nil for a method without a layout.
    ///
    /// - Throws: the problem that ``init(layout:problem:transport:clock:)`` was given: correct the layout.
    public func layout(of key: IssuerKey) throws -> StoredLayout? { try usableLayout().stored(for: key.method) }

    /// Makes the issuer of an account's tokens. A layout that cannot be used is no error here: the account opens, and
    /// the calls of the issuer throw.
    ///
    /// - Parameters:
    ///   - key: how the account signs in, and its server.
    ///   - stored: the layout that was stored with the account; nil to use the layout of the settings.
    /// - Throws: ``VaultError`` with code `configurationInvalid` when the address of the server cannot be used:
    ///   register again.
    public func issuer(of key: IssuerKey, layout stored: StoredLayout?) throws -> any TokenIssuer {
        let layout: BackendLayout
        do {
            layout = try stored.map { try BackendLayout($0) } ?? usableLayout()
        } catch let error as VaultError {
            // The account still opens. Only calls to the backend fail.
            return RefusingIssuer(error: error)
        }
        // The account keeps what the person allowed at the registration: no other way leads to such an address.
        let connection = BackendConnection(
            try ServerEndpoint(key.issuer, allowsInsecureHTTP: true), transport: transport)
        return switch key.method {
        case .backend: BrowserBackend(connection: connection, layout: layout.browser, clock: clock)
        case .passwordBackend: PasswordBackend(connection: connection, layout: layout.password, clock: clock)
        default:
            ServerIssuer(
                server: Server(connection: connection, layout: layout.server, clock: clock), method: key.method,
                clientID: key.clientID)
        }
    }

    /// - Throws: the error in the settings.
    func usableLayout() throws -> BackendLayout {
        if let problem { throw problem }
        return layout
    }
}

extension SignInContext {
    /// Returns the backend at the address of the settings.
    func backendConnection() throws -> BackendConnection {
        BackendConnection(
            try ServerEndpoint(settings.issuer, allowsInsecureHTTP: settings.allowsInsecureHTTP), transport: transport)
    }

    /// Returns the server at the address of the settings.
    func server() throws -> Server {
        Server(connection: try backendConnection(), layout: try backendLayout().server, clock: clock)
    }

    /// Returns the names of its paths and fields.
    func backendLayout() throws -> BackendLayout {
        let backends = issuers.lazy.compactMap { $0 as? Backends }.first
        guard let layout else { return try backends?.usableLayout() ?? BackendLayout() }
        var stored = try BackendLayout(layout)
        // What the app says about itself may have been added after the first sign-in.
        if let details = try? backends?.usableLayout().server.clientDetails {
            stored.server.clientDetails.merge(details) { kept, _ in kept }
        }
        return stored
    }
}
