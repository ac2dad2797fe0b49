public import VaultStorage

/// An issuer, and the layout of its server.
struct IssuerSource: Hashable, Sendable {
    let key: IssuerKey
    /// The layout; nil if the kind of server has none, or if it is missing in the settings.
    let layout: StoredLayout?

    /// Whether this source still issues the account's tokens. An account without a layout fits any layout.
    func isOf(_ account: Account) -> Bool {
        IssuerKey(account) == key && (account.layout == nil || account.layout == layout)
    }
}

/// The properties that decide which issuer an account has.
public struct IssuerKey: Hashable, Sendable {
    /// How the account signs in.
    public let method: SignInMethod
    /// The issuer URL, or a backend's base URL.
    public let issuer: String
    /// The client that registered the account; empty if the method has no client.
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

    init(_ token: SignInResult) {
        self.init(method: token.method, issuer: token.account.issuer, clientID: token.clientID)
    }
}
