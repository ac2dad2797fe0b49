import Foundation
import OpenIDConnect
import Testing
import VaultBase
import VaultCrypto
import VaultStorage
import VaultTesting

@testable import VaultAuth

/// A session that is locked just before its renewal. The lock asks the stop guard whether a renewal runs. So a renewal
/// that the guard does not know yet must not begin.
struct LockBeforeRefreshTests {
    private final class CountingIssuer: TokenIssuer {
        let renewals = Lock(0)

        func renew(
            _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
        ) async throws -> TokenSet {
            renewals.withLock { $0 += 1 }
            throw VaultError(.identityProviderUnavailable, "Not in this test.")
        }

        func revoke(_ credential: Credential, of id: AccountID) async throws {}

        func warmUp() async {}
    }

    @Test func `when locking precedes a refresh, then no provider is asked`() async throws {
        let id = AccountID(issuer: "https://id.example.com", subject: "alice")
        let (store, key, clock, issuer) = (InMemoryStore(), try VaultKey.random(), ManualClock(), CountingIssuer())
        let account = Account(
            id: id, clientID: "vault-cli", keyServiceURL: "https://keys.example.com", deviceSecret: [],
            createdAt: clock.now)
        let items = TokenItems(store: store, id: id, vaultKey: key)
        try await store.apply([.putAccount(account), items.put(Credential(value: "R1"))], to: id)
        let looks = Lock(0)
        let transaction = RefreshTransaction(
            id: id, vaultKey: key, store: store, unstored: UnstoredTokens(retryClock: nil), issuer: issuer,
            source: IssuerSource(key: IssuerKey(account), layout: nil),
            isWanted: {
                looks.withLock { looks in
                    looks += 1
                    return looks == 1
                }
            }, clock: clock)
        let error = await #expect(throws: VaultError.self) {
            _ = try await transaction.run(.init(force: true, minimumValidity: .zero, at: clock.now))
        }
        #expect(error?.code == .notLoggedIn)
        #expect(issuer.renewals.withLock(\.self) == 0)
        #expect(try await store.account(id)?.refreshStartedAt == nil)
    }
}
