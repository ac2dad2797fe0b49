public import VaultStorage

/// An issuer, and how its server is spoken to.
struct IssuerSource: Hashable, Sendable {
    let key: IssuerKey
    /// Nil for a kind of server without a layout, and where the settings should have one and do not.
    let layout: StoredLayout?

    /// Whether an account still is issued by it. An account without a layout of its own goes by any.
    func isOf(_ account: Account) -> Bool {
        IssuerKey(account) == key && (account.layout == nil || account.layout == layout)
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

    /// Makes the key of an issuer.
    ///
    /// - Parameters:
    ///   - method: how the account signs in.
    ///   - issuer: the issuer URL, or the base URL of a backend.
    ///   - clientID: the client that registered the account; empty if the method has no clients.
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
