import CredentialVault
import HTTPTypes
import Testing
import VaultAuthTestSupport
import VaultBase
import VaultDevelopment
import VaultTesting

/// A server on the local network that has only plain http. A person can allow that, and only for this server.
@Suite struct BackendsInsecureHTTPTests {
    private static let url = "http://notes.lan"
    private let way = ServerSignIn(using: NoBrowser(), asking: Typist(), choosing: .apiToken)

    private func vault(
        _ fixture: BackendsFixture, _ network: LocalNetwork, isAllowed: Bool, issuer: String = url
    ) async throws -> Vault {
        var configuration = fixture.configuration
        configuration.issuer = issuer
        configuration.allowsInsecureHTTP = isAllowed
        return try await Vault(
            configuration, store: fixture.store, keyService: fixture.keyService, transport: network,
            clock: fixture.clock)
    }

    private func vaultWithKeyService(_ fixture: BackendsFixture, _ network: LocalNetwork) async throws -> Vault {
        var configuration = fixture.configuration
        configuration.keyServiceURL = Self.url
        configuration.allowsInsecureHTTP = true
        return try await Vault(configuration, store: InMemoryStore(), transport: network)
    }

    @Test func `when plain http is not allowed, then nothing is sent`() async throws {
        try await withBackend { fixture in
            let network = LocalNetwork(fixture.backend.url)
            let vault = try await vault(fixture, network, isAllowed: false)
            let error = await failure { try await vault.auth.signIn(way) }
            #expect(error?.code == .configurationInvalid && error?.detail == .plainHTTP)
            #expect(network.paths.isEmpty)
        }
    }

    @Test func `when plain http is allowed, then the account keeps it`() async throws {
        try await withBackend { fixture in
            let network = LocalNetwork(fixture.backend.url)
            let first = try await vault(fixture, network, isAllowed: true)
            let login = try await first.auth.signIn(way)
            #expect(login.account.issuer == Self.url && login.account.usesInsecureHTTP)
            try await first.storage.storeRefreshToken(
                login, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            // A program that starts later does not ask again.
            let second = try await vault(fixture, network, isAllowed: false)
            let session = try await second.auth.login(
                login.account, with: .password(SecretBytes(utf8: BackendsFixture.password)))
            let request = HTTPRequest(
                method: .get, scheme: "http", authority: "notes.lan", path: fixture.configuration.backend.server.profile
            )
            let own = try session.authorizedTransport(for: [Self.url])
            #expect(try await own.send(request, body: [], limits: HTTPLimits()).status == .ok)
            for other in ["http://other.lan", "http://notes.lan:8080"] {
                #expect(throws: VaultError.self) { try session.authorizedTransport(for: [other]) }
            }
        }
    }

    @Test func `when plain http is allowed, then device sign-in works`() async throws {
        try await withBackend(.init(options: { $0.devicePollingInterval = 1 })) { fixture in
            let backend = fixture.backend.url
            let vault = try await vault(fixture, LocalNetwork(backend), isAllowed: true)
            let token = try await vault.auth.signIn(
                ServerDeviceSignIn { device in
                    #expect(device.verificationURI.hasPrefix(Self.url + "/"))
                    #expect(device.verificationURIComplete?.hasPrefix(Self.url + "/") == true)
                    // The browser has no such network.
                    let page = device.verificationURI.replacing(Self.url, with: backend)
                    _ = try await BackendsFixture.alice.visit(page, userCode: device.userCode)
                })
            #expect(token.method == .serverOAuth && token.account.issuer == Self.url)
        }
    }

    @Test func `when an account uses plain http, then its server answers`() async throws {
        try await withBackend { fixture in
            let network = LocalNetwork(fixture.backend.url)
            let id = AccountID(issuer: Self.url, subject: "alice")
            let account = Account(
                id: id, clientID: "", keyServiceURL: "", deviceSecret: [], createdAt: fixture.clock.now)
            let information = try await ServerInformation.read(of: account, transport: network)
            #expect(information?.hasOAuth == true)
            let error = await failure { _ = try await ServerInformation.read(from: Self.url, transport: network) }
            #expect(error?.detail == .plainHTTP)
        }
    }

    @Test func `when plain http is allowed, then other servers stay refused`() async throws {
        try await withBackend { fixture in
            let network = LocalNetwork(fixture.backend.url)
            let elsewhere = try await vault(fixture, network, isAllowed: true, issuer: "http://notes.example.com")
            let refusal = await failure { try await elsewhere.auth.signIn(way) }
            #expect(refusal?.code == .configurationInvalid)
            // An OpenID provider and a key service always need https.
            let provider = try await vault(fixture, network, isAllowed: true)
            let openID = await failure { try await provider.auth.performOpenIDConnectLogin(using: NoBrowser()) }
            #expect(openID?.code == .configurationInvalid)
            let keys = try await vaultWithKeyService(fixture, network)
            let noKeys = await failure { try await keys.storage.checkReady() }
            #expect(noKeys?.code == .configurationInvalid)
            #expect(network.paths.isEmpty)
        }
    }
}

/// A local network, in which a backend of this machine has the name `notes.lan`. It carries only plain http that is
/// allowed.
private final class LocalNetwork: HTTPTransport {
    private let authority: String
    private let base = Network()
    private let log = Lock<[String]>([])

    init(_ url: String) { authority = String(url.dropFirst("http://".count)) }

    /// The paths that were called.
    var paths: [String] { log.withLock { $0 } }

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        guard request.authority == "notes.lan", limits.allowsInsecureHTTP else {
            throw HTTPError(.forbiddenURL, authority: request.authority ?? "")
        }
        log.withLock { $0.append(request.path ?? "") }
        var request = request
        request.authority = authority
        var answer = try await base.send(request, body: body, limits: limits)
        // The backend names its pages with the name that the network gives to it.
        answer.body = Array(String(decoding: answer.body, as: UTF8.self).replacing(authority, with: "notes.lan").utf8)
        return answer
    }
}
