import Foundation
import KeyServiceClient
import OpenIDConnect
import VaultAuth
import VaultCrypto
import VaultSQLite
import VaultStorage
import VaultTesting
import VaultUnlock

/// Runs `body` with an empty folder (mode 0700) that is removed afterwards.
func withTemporaryFolder<R>(_ body: (String) async throws -> R) async throws -> R {
    let folder = FileManager.default.temporaryDirectory.path() + "vault-storage-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// The kinds of stores that must keep the same promises.
enum StoreKind: CaseIterable {
    case sqlite
    case inMemory

    /// - Parameter clock: measures the wait for a lock.
    func withStore<R>(
        clock: any Clock<Duration> = ContinuousClock(), _ body: (any SecureStore) async throws -> R
    ) async throws -> R {
        switch self {
        case .inMemory: try await body(InMemoryStore())
        case .sqlite: try await withTemporaryFolder { try await body(SQLiteStore(folder: $0, clock: clock)) }
        }
    }
}

let issuer = "https://login.example.com"

extension Account {
    static func example(
        _ subject: String, issuer: String = issuer, alias: String? = nil, email: String? = nil,
        preferredUsername: String? = nil, clientID: String = "app", createdAt: Double = 1_800_000_000
    ) -> Account {
        Account(
            id: AccountID(issuer: issuer, subject: subject), alias: alias, email: email,
            preferredUsername: preferredUsername, clientID: clientID, keyServiceURL: "https://keys.example.com",
            deviceSecret: [UInt8](repeating: 7, count: 32), createdAt: Date(timeIntervalSince1970: createdAt))
    }
}

extension Keyslot {
    static func example(_ id: String, createdAt: Double = 1_800_000_000) -> Keyslot {
        Keyslot(
            id: id, kind: .password, salt: [UInt8](0..<16), argon2: .insecureForTests, keyID: "key of \(id)",
            wrapped: [1, 2, 3], createdAt: Date(timeIntervalSince1970: createdAt))
    }
}

/// Accounts over a store, with a key service that counts its requests.
struct Registry {
    let keyService: InMemoryKeyService
    let accounts: Accounts

    init(store: any SecureStore, keyService: InMemoryKeyService = InMemoryKeyService()) {
        self.keyService = keyService
        accounts = Accounts(
            store: store, clock: ManualClock(), argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: .standard,
            keyServiceURL: "https://keys.example.com",
            services: KeyServices(released: { _ in keyService }))
    }

    /// Registers a person with the password "NAME's password".
    @discardableResult
    func register(_ name: String) async throws -> VaultKey {
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
    func open(_ name: String) async throws -> VaultKey {
        try await accounts.open(
            accounts.find("alias-\(name)"), with: .password(SecretBytes(utf8: "\(name)'s password")))
    }
}
