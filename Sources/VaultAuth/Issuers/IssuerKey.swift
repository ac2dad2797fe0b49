public import VaultStorage

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
