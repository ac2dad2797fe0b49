import CredentialVault
import Foundation
import Testing
import VaultTesting

/// The names of an account's person, which each renewal may change.
@Suite struct PersonUpdateTests {
    private static let password = "tea at half past four"
    private let clock = ManualClock()
    private let store = InMemoryStore()
    private let keyService = InMemoryKeyService()

    /// Registers Alice as the team's account, and renews her tokens once.
    ///
    /// - Parameter tell: adds to the renewal what the provider says of the person.
    private func renewed(_ tell: @escaping @Sendable (inout TokenSet) -> Void) async throws -> (Session, Vault) {
        let base = FakeProvider(clock: clock)
        var configuration = VaultConfiguration(
            issuer: base.issuer, clientID: "app", keyServiceURL: "https://keys.example", argon2: .insecureForTests)
        configuration.displayClaims = ["name"]
        let vault = try await Vault(
            configuration, store: store, keyService: keyService, clock: clock,
            issuers: [TellingProvider(base: base, tell: tell)])
        let token = try await vault.auth.signIn(base.signIn("alice", name: "Alice Adams", email: "a@example.com"))
        let session = try await vault.storage.storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: Self.password), alias: "team")
        _ = try await session.accessToken(forceRefresh: true)
        return (session, vault)
    }

    private func idToken(subject: String = "alice", email: String? = "new@example.com") -> IDToken {
        IDToken(
            issuer: "https://provider.example", subject: subject, email: email, preferredUsername: "al",
            name: "Alice Brown", expiresAt: clock.now.addingTimeInterval(300), issuedAt: clock.now,
            claimsJSON: Array(#"{"name":"Alice Brown"}"#.utf8), encoded: "id.token")
    }

    @Test func `when an ID token changes names, then the account follows`() async throws {
        let token = idToken()
        let (session, vault) = try await renewed { $0.idToken = token }
        let account = try await vault.storage.account(session.id)
        #expect(account.email == "new@example.com" && account.preferredUsername == "al")
        #expect(account.displayClaims == ["name": "Alice Brown"])
        #expect(account.alias == "team", "the person chose it")
        let identity = try await session.identity()
        #expect(identity.email == "new@example.com" && identity.name == "Alice Brown")
        #expect(try await vault.storage.account(userID: "new@example.com").id == session.id)
    }

    @Test func `when an ID token omits the address, then it stays`() async throws {
        let token = idToken(email: nil)
        let (session, vault) = try await renewed { $0.idToken = token }
        let account = try await vault.storage.account(session.id)
        #expect(account.email == "a@example.com" && account.preferredUsername == "al")
    }

    @Test func `when user information comes along, then the account follows`() async throws {
        let info = UserInfo(
            subject: "alice", email: "new@example.com", name: "Alice Brown",
            claimsJSON: Array(#"{"name":"Alice Brown"}"#.utf8))
        let (session, vault) = try await renewed { $0.userInfo = info }
        #expect(try await vault.storage.account(session.id).email == "new@example.com")
        #expect(try await session.identity().name == "Alice Brown")
    }

    @Test(arguments: [true, false])
    func `when an answer names another person, then nothing changes`(isIDToken: Bool) async throws {
        let (token, info) = (idToken(subject: "bob"), UserInfo(subject: "bob", email: "bob@example.com"))
        let (session, vault) = try await renewed { if isIDToken { $0.idToken = token } else { $0.userInfo = info } }
        let account = try await vault.storage.account(session.id)
        #expect(account.email == "a@example.com" && account.preferredUsername == "alice")
        #expect(try await session.identity().name == "Alice Adams")
    }
}

/// A provider whose renewals say who the person is now.
private struct TellingProvider: IssuerKind, TokenIssuer {
    let base: FakeProvider
    let tell: @Sendable (inout TokenSet) -> Void

    func issues(tokensOf key: IssuerKey) -> Bool { base.issues(tokensOf: key) }
    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer { self }
    func warmUp() async {}
    func revoke(_ credential: Credential, of id: AccountID) async throws {}
    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        var tokens = try await base.renew(credential, of: id, keep: keep)
        tell(&tokens)
        return tokens
    }
}
