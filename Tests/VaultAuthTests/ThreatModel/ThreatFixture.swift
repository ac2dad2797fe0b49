import CredentialVault
import Foundation
import KeyServiceClient
import TestSupport
import Testing
import VaultBase
import VaultStorage
import VaultTesting

/// A machine whose key service is the real one, and a thief's copies of its disk.
struct ThreatFixture {
    static let password = "tea at half past four"
    static let id = AccountID(issuer: "https://login.example.com", subject: "alice")
    /// The thief finds the password with the last one.
    static let guesses = ["password", "tea at four", "tea at half past three", password]

    let version: Int
    let clock: ManualClock
    let service: RealKeyService
    let store = InMemoryStore()
    let accounts: Accounts

    /// - Parameters:
    ///   - first: what answers in place of the service of version 1.
    ///   - second: what answers in place of the service of version 2.
    init(
        _ version: Int, _ service: RealKeyService, _ clock: ManualClock, first: (any KeyService)? = nil,
        second: (any OPRFKeyService)? = nil
    ) {
        (self.version, self.service, self.clock) = (version, service, clock)
        accounts = Self.accounts(version, store, clock, first ?? service, second ?? service)
    }

    private static func accounts(
        _ version: Int, _ store: InMemoryStore, _ clock: ManualClock, _ first: any KeyService,
        _ second: any OPRFKeyService
    ) -> Accounts {
        var accounts = Accounts(
            store: store, clock: clock, argon2: .insecureForTests, offlineCost: .insecureForTests, policy: .standard,
            keyServiceURL: "https://keys.example.com",
            services: KeyServices(released: { _ in first }, oprf: { _ in version == 2 ? second : nil }))
        accounts.newAccountProtocol = version
        return accounts
    }

    /// The same machine in a network where somebody else answers for the key service.
    func accounts(first: any KeyService) -> Accounts { Self.accounts(version, store, clock, first, service) }

    @discardableResult
    func register() async throws -> VaultKey {
        let token = SignInResult(
            Credential(value: "refresh token", scope: "openid"), account: Self.id, clientID: "app",
            identity: .init(email: nil, preferredUsername: nil, name: nil, claimsJSON: Array("{}".utf8)),
            accessToken: nil)
        return try await accounts.register(
            token, newPassword: SecretBytes(utf8: Self.password), alias: nil, replacingItems: false)
    }

    func account() async throws -> Account { try await accounts.account(Self.id) }

    /// A thief with a copy of the present disk.
    func thief(_ kind: Keyslot.Kind = .password) async throws -> DiskThief {
        DiskThief(disk: try await account(), kind: kind)
    }

    @discardableResult
    func login(_ password: String = password, _ accounts: Accounts? = nil) async throws -> VaultKey {
        let vaultKey = try await (accounts ?? self.accounts).open(
            account(), with: .password(SecretBytes(utf8: password)))
        await self.accounts.finishConfirming()
        return vaultKey
    }

    /// The code of the error of a login; nil if the account opened.
    func failure(
        _ password: String = password, _ accounts: Accounts? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> VaultError.Code? {
        await thrown(\VaultError.code, sourceLocation: sourceLocation) { try await login(password, accounts) }
    }
}

/// Runs `body` with a key service in a folder that is removed afterwards.
func withKeyService(_ body: (RealKeyService, ManualClock) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.path() + "threats-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let clock = ManualClock()
    let service = try await RealKeyService(path: folder + "/keys", clock: clock)
    defer { service.close() }
    try await body(service, clock)
}

/// As ``withKeyService(_:)``, with a machine that has registered nobody.
func withThreats(_ version: Int, _ body: (ThreatFixture) async throws -> Void) async throws {
    try await withKeyService { service, clock in try await body(ThreatFixture(version, service, clock)) }
}
