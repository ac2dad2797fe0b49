import OpenIDConnect
import VaultAuth
import VaultBase
import VaultStorage
import VaultTesting

/// Work of a test at a certain moment; none until the test sets it.
final class Hook: Sendable {
    private let work = Lock<@Sendable () async -> Void>({})

    func set(_ work: @escaping @Sendable () async -> Void) { self.work.withLock { $0 = work } }

    func run() async { await work.withLock(\.self)() }
}

/// A provider with a hook between its answer and the moment when the new token is stored.
final class HookedProvider: IssuerKind, TokenIssuer {
    private let provider: FakeProvider
    private let hook = Hook()

    init(_ provider: FakeProvider) { self.provider = provider }

    /// Runs `hook` each time the provider has renewed a token.
    func whenRenewed(_ hook: @escaping @Sendable () async -> Void) { self.hook.set(hook) }

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await provider.renew(credential, of: id) { renewed in
            await hook.run()
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
