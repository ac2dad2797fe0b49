internal import Foundation
internal import KeyServiceClient
internal import VaultCrypto
package import VaultStorage
package import VaultTesting
package import VaultUnlock

/// Accounts over a store, with a key service that counts its requests.
package struct Registry: Sendable {
    package let keyService: InMemoryKeyService
    package let accounts: Accounts

    package init(store: any SecureStore, keyService: InMemoryKeyService = InMemoryKeyService()) {
        self.keyService = keyService
        accounts = Accounts(
            store: store, clock: ManualClock(), argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: .standard,
            keyServiceURL: "https://keys.example.com",
            services: KeyServices(released: { _ in keyService }))
    }

    /// Registers a person with the password "NAME's password".
    @discardableResult
    package func register(_ name: String) async throws -> VaultKey {
        let token = SignInResult(
            Credential(value: "refresh token of \(name)", scope: "openid"),
            account: AccountID(issuer: issuer, subject: name), clientID: "app",
            identity: .init(
                email: "\(name)@example.com", preferredUsername: nil, name: nil, claimsJSON: Array("{}".utf8)),
            accessToken: AccessToken(
                value: "access token of \(name)", tokenType: "Bearer", expiresAt: Date(timeIntervalSince1970: 2e9),
                scope: nil, obtainedAt: Date(timeIntervalSince1970: 1_800_000_000)))
        return try await accounts.register(
            token, newPassword: SecretBytes(utf8: "\(name)'s password"), alias: "alias-\(name)",
            replacingItems: false)
    }

    /// Finds an account by alias, and opens it with the right password.
    package func open(_ name: String) async throws -> VaultKey {
        try await accounts.open(
            accounts.find("alias-\(name)"), with: .password(SecretBytes(utf8: "\(name)'s password")))
    }
}
