internal import Foundation
internal import HTTPTypes
public import KeyServiceClient
public import VaultAuth
internal import VaultCrypto
public import VaultHTTP
public import VaultStorage
package import VaultUnlock

/// A vault for an app's own tests, without sockets, files or waiting: the real ``Auth`` and ``Storage`` over an
/// in-memory store, an in-memory key service and a ``FakeProvider``. It hardly stretches passwords, so a test takes
/// milliseconds.
///
/// ```swift
/// let test = TestVault()
/// let alice = try await test.addAccount("alice", password: "tea at half past four", pin: "8264")
/// let vault = Vault(auth: test.auth, storage: test.storage)
/// ```
public struct TestVault: Sendable {
    /// Logins and tokens, as `Vault.auth` has them. Give it to the `Vault` under test.
    public let auth: Auth
    /// Accounts and items, as `Vault.storage` has them. Give it to the `Vault` under test.
    public let storage: Storage
    package let accounts: Accounts
    /// The store. A test can make its writes fail.
    public let store: InMemoryStore
    /// The key service. A test can make it unreachable and look at its keys.
    public let keyService: InMemoryKeyService
    /// The key service with protocol version 2, in place of ``keyService``; nil if the test has only version 1.
    public let oprfKeyService: InMemoryOPRFKeyService?
    /// The identity provider. It signs people in, and a test decides about renewals.
    public let provider: FakeProvider
    /// The clock of all parts. It stands still until the test moves it.
    public let clock: ManualClock

    /// - Parameters:
    ///   - transport: carries the requests of `authorizedTransport`; nil to refuse all.
    ///   - hasProtocol2: whether the key service has protocol version 2. Then all unlock methods use it.
    ///   - listsDevices: whether each login lists the device at the key service, as with
    ///     `VaultConfiguration.listsDevices`.
    ///   - policy: the rules for secrets, servers and sessions, as in `VaultConfiguration.policy`.
    ///   - displayClaims: the claims of the ID token that the list of accounts has, as in
    ///     `VaultConfiguration.displayClaims`. ``FakeProvider/signIn(_:name:email:claims:)`` gives them.
    ///   - agent: returns the agent's session of an account, for `attach`. It throws ``VaultError`` with code
    ///     `notLoggedIn` if the agent does not hold the account. Nil for no agent.
    ///   - wrapped: a replacement for ``keyService``, for example ``SlowKeyService`` around it.
    public init(
        transport: (any HTTPTransport)? = nil, hasProtocol2: Bool = false, listsDevices: Bool = false,
        policy: VaultPolicy = .standard, displayClaims: [String]? = nil,
        agent: (@Sendable (AccountID) async throws -> any SessionBackend)? = nil,
        keyService wrapped: @Sendable (InMemoryKeyService) -> any KeyService = { $0 }
    ) {
        clock = ManualClock()
        store = InMemoryStore()
        keyService = InMemoryKeyService(now: { [clock] in clock.now })
        provider = FakeProvider(clock: clock)
        let service = wrapped(keyService)
        let oprf = hasProtocol2 ? InMemoryOPRFKeyService(busyTime: 0, now: { [clock] in clock.now }) : nil
        oprfKeyService = oprf
        var accounts = Accounts(
            store: store, clock: clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: policy, keyServiceURL: "https://keys.example",
            services: KeyServices(
                released: { _ in service }, oprf: { _ in oprf }, deviceLists: { _ in oprf }))
        accounts.listsDevices = listsDevices
        accounts.displayClaims = displayClaims
        accounts.steady = accounts.steady.showing { [clock] in .seconds(clock.now.timeIntervalSince1970) }
        oprf?.accessTokenOwner = { [provider] in provider.owner(ofAccessToken: $0) }
        let none = FakeTransport { request, _ in throw HTTPError(.notConnected, authority: request.authority ?? "") }
        let opener = SessionOpener(
            accounts: accounts, issuers: [provider], transport: transport ?? none,
            agent: agent.map(Self.attaching))
        self.accounts = opener.accounts
        auth = Auth(
            settings: .init(issuer: provider.issuer, clientID: "app", scopes: [], redirectURI: "app://callback"),
            opener: opener, listening: NoRedirects())
        storage = Storage(accounts: opener.accounts, auth: auth, issuer: nil)
    }

    private static func attaching(
        _ held: @escaping @Sendable (AccountID) async throws -> any SessionBackend
    ) -> SessionOpener.Attach {
        { id, _ in
            SessionOpener.AttachedSession(
                backend: try await held(id), contact: .confirmed, refusal: nil, updates: { AsyncStream { _ in } })
        }
    }

    /// Makes an account, and logs nobody in. No rule for new secrets applies, so a test may use `1234` as a PIN.
    ///
    /// - Parameters:
    ///   - subject: the subject of its owner.
    ///   - name: the person's name.
    ///   - password: the password.
    ///   - pin: an additional PIN; nil for none.
    @discardableResult
    public func addAccount(
        _ subject: String, name: String? = nil, password: String, pin: String? = nil
    ) async throws -> AccountID {
        let token = try await auth.signIn(provider.signIn(subject, name: name))
        let id = try await storage.storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: password), skipsNewPasswordRule: true
        ).id
        if let pin {
            try await storage.setPIN(
                SecretBytes(utf8: pin), userID: subject, password: SecretBytes(utf8: password), skipsPINRule: true)
        }
        try await auth.logout()
        return id
    }
}
