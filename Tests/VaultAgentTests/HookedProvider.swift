import OpenIDConnect
import VaultAuth
import VaultBase
import VaultStorage
import VaultTesting

/// A provider with a hook between its answer and the moment when the new token is stored.
final class HookedProvider: IssuerKind, TokenIssuer {
    private let provider: FakeProvider
    private let hook = Lock<@Sendable () async -> Void>({})

    init(_ provider: FakeProvider) { self.provider = provider }

    /// Runs `hook` each time the provider has renewed a token.
    func whenRenewed(_ hook: @escaping @Sendable () async -> Void) { self.hook.withLock { $0 = hook } }

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await provider.renew(credential, of: id) { renewed in
            await hook.withLock(\.self)()
            try await keep(renewed)
        }
    }

    func revoke(_ credential: Credential, of id: AccountID) async throws {
        try await provider.revoke(credential, of: id)
    }

    func issues(tokensOf key: IssuerKey) -> Bool { provider.issues(tokensOf: key) }

    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer { self }

    func warmUp() async {}
}
