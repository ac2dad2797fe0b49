import CredentialVault
import Foundation
import TestSupport
import Testing
import VaultAuthTestSupport
import VaultDevelopment
import VaultTesting

/// A machine with a vault, a provider and a key service for experiments. Time stands still unless a test moves it.
struct Fixture {
    let provider: DevelopmentIdentityProvider
    let keyService: InMemoryKeyService
    let store: any SecureStore
    let clock: ManualClock
    let vault: Vault
    let network: Network
    private let configuration: VaultConfiguration

    static let password = "tea at half past four"

    init(
        provider: DevelopmentIdentityProvider, clock: ManualClock, store: any SecureStore, redirectURI: String?
    ) async throws {
        self.provider = provider
        (keyService, network) = (InMemoryKeyService(now: { clock.now }), Network())
        self.clock = clock
        self.store = store
        var configuration = VaultConfiguration(
            issuer: provider.issuer, clientID: "vault-cli", keyServiceURL: "https://keys.example.com",
            redirectURI: redirectURI, argon2: .insecureForTests)
        configuration.offlineArgon2 = .insecureForTests
        self.configuration = configuration
        vault = try await Vault(configuration, store: store, keyService: keyService, transport: network, clock: clock)
    }

    /// The same machine with another vault on the same store.
    init(_ fixture: Fixture, _ vault: Vault) {
        (provider, keyService, store) = (fixture.provider, fixture.keyService, fixture.store)
        (clock, configuration, network) = (fixture.clock, fixture.configuration, fixture.network)
        self.vault = vault
    }

    /// Stops the provider: from now on connections to it are refused.
    func stopProvider() async {
        await provider.stop()
        network.dropConnections()
    }

    /// Another vault on the same store: the program starts again, or runs twice.
    func anotherVault(
        store other: (any SecureStore)? = nil, keyService otherService: (any KeyService)? = nil,
        transport: (any HTTPTransport)? = nil, policy: VaultPolicy = .standard, machinePolicy: VaultPolicy? = nil
    ) async throws -> Vault {
        var configuration = self.configuration
        configuration.policy = policy
        return try await Vault(
            configuration, machinePolicy: machinePolicy, store: other ?? store, keyService: otherService ?? keyService,
            transport: transport, clock: clock)
    }

    /// Logs in at the provider, without storing anything.
    func signIn(_ name: String = "alice") async throws -> SignInResult {
        try await vault.auth.performOpenIDConnectLogin(
            using: ScriptedBrowser(username: name, password: "\(name)-password"))
    }

    @discardableResult
    func register(
        _ name: String = "alice", alias: String? = nil, password: String = password
    ) async throws -> Session {
        try await vault.storage.storeRefreshToken(
            signIn(name), withNewPassword: SecretBytes(utf8: password), alias: alias)
    }

    @discardableResult
    func store(_ token: SignInResult) async throws -> Session {
        try await vault.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: Self.password))
    }

    @discardableResult
    func login(_ name: String = "alice", password: String = password) async throws -> Session {
        try await vault.auth.login(userID: name, password: SecretBytes(utf8: password))
    }

    func id(_ name: String = "alice") async throws -> AccountID {
        try await vault.storage.account(userID: name).id
    }

    /// The requests for new tokens, without those of a first login.
    var refreshes: [ProviderRequest] {
        get async { await provider.requests.filter { $0.grantType == "refresh_token" } }
    }

    func refreshMark() async throws -> Date? {
        try await store.account(id())?.refreshStartedAt
    }

    /// An item of an app in alice's account.
    static let note = ItemName(rawValue: "note")

    func putNote() async throws {
        let account = try await vault.storage.account(userID: "alice")
        let key = try await vault.accounts.open(account, with: .password(SecretBytes(utf8: Self.password)))
        try await store.apply(
            [.putItem(Self.note, await key.seal([1, 2, 3], as: Self.note, of: account.id))], to: account.id)
    }

    func note(password: String) async throws -> [UInt8]? {
        let account = try await vault.storage.account(userID: "alice")
        let key = try await vault.accounts.open(account, with: .password(SecretBytes(utf8: password)))
        guard let sealed = try await store.item(Self.note, of: account.id) else { return nil }
        return try await key.open(sealed, as: Self.note, of: account.id)
    }
}

/// Runs `body` with a fixture whose provider is stopped afterwards.
func withFixture(
    store: any SecureStore = InMemoryStore(), redirectURI: String? = nil,
    options: DevelopmentIdentityProvider.Options = .init(),
    _ body: (Fixture) async throws -> Void
) async throws {
    let clock = ManualClock()
    var options = options
    options.now = { clock.now }
    try await withDevelopmentIdentityProvider(options) { provider in
        try await body(Fixture(provider: provider, clock: clock, store: store, redirectURI: redirectURI))
    }
}

/// As ``withFixture(store:redirectURI:options:_:)``, with a store on disk.
func withFixtureOnDisk(_ body: (Fixture, _ folder: String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.path() + "vault-auth-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withFixture(store: SQLiteStore(folder: folder)) { try await body($0, folder) }
}

/// The error of the vault that `body` throws; nil when it throws none. Any other error fails the test.
func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> VaultError? {
    await thrown(VaultError.self, sourceLocation: sourceLocation, body)
}
