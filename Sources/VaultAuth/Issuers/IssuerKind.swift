public import VaultStorage

/// A kind of server that issues tokens: OpenID providers, backends of another protocol, or an app's own.
///
/// A conformer must not send anything here: an issuer is made when an account is opened, also without the network. It
/// must not assume that accounts were registered with the settings that it has now.
public protocol IssuerKind: Sendable {
    /// Whether servers of this kind issue the tokens of an account.
    func issues(tokensOf key: IssuerKey) -> Bool

    /// What is stored with a new account, so that its server is spoken to in the same way later; nil for nothing.
    func layout(of key: IssuerKey) throws -> StoredLayout?

    /// Makes the issuer of an account's tokens.
    ///
    /// - Parameters:
    ///   - key: how the account signs in, and its server.
    ///   - layout: what was stored with the account, or what ``layout(of:)`` gives where nothing was.
    /// - Throws: ``VaultError`` with code `configurationInvalid`.
    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer
}

extension IssuerKind {
    /// Stores nothing with a new account: for kinds of servers without a layout.
    public func layout(of key: IssuerKey) throws -> StoredLayout? { nil }
}
