public import VaultStorage

/// An issuer, and for a backend what its paths and fields are called.
struct IssuerSource: Hashable, Sendable {
    let key: IssuerKey
    /// Nil for a method without a layout, and where the settings should have one and do not.
    let layout: StoredLayout?

    /// - Parameter settings: what an account goes by that has no layout of its own.
    init(_ account: Account, _ settings: Auth.Settings?) {
        self.init(IssuerKey(account), account.layout, settings)
    }

    init(_ token: RefreshToken, _ settings: Auth.Settings?) {
        self.init(IssuerKey(token), token.layout, settings)
    }

    private init(_ key: IssuerKey, _ layout: StoredLayout?, _ settings: Auth.Settings?) {
        self.key = key
        let hasProblem = settings?.backendProblem != nil
        self.layout = layout ?? (hasProblem ? nil : try? (settings?.backend ?? BackendLayout()).stored(for: key.method))
    }

    /// Whether an account still is issued by it. An account without a layout of its own goes by any.
    func isOf(_ account: Account) -> Bool {
        IssuerKey(account) == key && (account.layout == nil || account.layout == layout)
    }

    /// - Throws: ``VaultError``: `storeCorrupt`, or what is wrong with the settings.
    func backendLayout(_ settings: Auth.Settings?) throws -> BackendLayout {
        if let layout { return try BackendLayout(layout) }
        if let problem = settings?.backendProblem { throw problem }
        return settings?.backend ?? BackendLayout()
    }
}

/// What decides who issues an account's tokens.
public struct IssuerKey: Hashable, Sendable {
    /// How the account signs in.
    public let method: SignInMethod
    /// The issuer URL, or a backend's base URL.
    public let issuer: String
    /// The client that registered the account; empty where the method has none.
    public let clientID: String

    public init(method: SignInMethod, issuer: String, clientID: String) {
        self.method = method
        self.issuer = issuer
        self.clientID = clientID
    }

    init(_ account: Account) {
        self.init(method: account.method, issuer: account.id.issuer, clientID: account.clientID)
    }

    init(_ token: RefreshToken) {
        self.init(method: token.method, issuer: token.account.issuer, clientID: token.clientID)
    }
}
