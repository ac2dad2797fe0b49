public import VaultStorage

/// A kind of server that issues tokens: OpenID providers, backends of another protocol, or an app's own.
///
/// A conformer must not send requests here: issuers are made when an account is opened, also without the network. It
/// must not assume that accounts were registered with its present settings.
public protocol IssuerKind: Sendable {
    /// Whether servers of this kind issue the tokens of an account.
    func issues(tokensOf key: IssuerKey) -> Bool

    /// Returns the layout to store with a new account, so that later requests use the same layout; nil for none.
    func layout(of key: IssuerKey) throws -> StoredLayout?

    /// Makes the issuer of an account's tokens.
    ///
    /// - Parameters:
    ///   - key: the account's way to sign in, and its server.
    ///   - layout: the layout that was stored with the account, otherwise the result of ``layout(of:)``.
    /// - Throws: ``VaultError`` with code `configurationInvalid`.
    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer
}

extension IssuerKind {
    /// Returns nil, for kinds of servers without a layout.
    public func layout(of key: IssuerKey) throws -> StoredLayout? { nil }
}
