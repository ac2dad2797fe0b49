internal import VaultBase
internal import VaultStorage

/// Finds the issuer of an account's tokens. Each issuer is made once, because it keeps its server's metadata.
final class Issuers: Sendable {
    /// The kinds of servers. The first that fits an account is used.
    let kinds: [any IssuerKind]
    private let known = Lock<[IssuerSource: any TokenIssuer]>([:])

    init(kinds: [any IssuerKind]) { self.kinds = kinds }

    /// - Throws: ``VaultError`` with code `configurationInvalid` if no kind of server fits.
    func issuer(_ source: IssuerSource) throws -> any TokenIssuer {
        if let known = known.withLock({ $0[source] }) { return known }
        guard let kind = kind(of: source.key) else {
            throw VaultError(
                .configurationInvalid,
                "This program does not know the account's way to sign in: \(source.key.method). Use the program that registered the account."
            )
        }
        // An app's own kind may do anything, so it is not called under the lock.
        let new = try kind.issuer(of: source.key, layout: source.layout)
        return known.withLock { known in
            let issuer = known[source] ?? new
            known[source] = issuer
            return issuer
        }
    }

    func source(of account: Account) -> IssuerSource { source(IssuerKey(account), account.layout) }

    func source(of token: SignInResult) -> IssuerSource { source(IssuerKey(token), token.layout) }

    /// Returns the layout to store with a new account of this token.
    func layout(of token: SignInResult) throws -> StoredLayout? {
        let key = IssuerKey(token)
        return try kind(of: key)?.layout(of: key)
    }

    private func source(_ key: IssuerKey, _ layout: StoredLayout?) -> IssuerSource {
        IssuerSource(key: key, layout: layout ?? (try? kind(of: key)?.layout(of: key)))
    }

    private func kind(of key: IssuerKey) -> (any IssuerKind)? { kinds.first { $0.issues(tokensOf: key) } }
}
