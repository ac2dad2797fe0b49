import CredentialVault
import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultAuthTestSupport
import VaultBase
import VaultDevelopment
import VaultTesting

/// A machine with a vault, a key service, and a backend that is not an OpenID provider. Time stands still unless a test
/// moves it.
struct BackendsFixture {
    let backend: DevelopmentBackend
    let keyService = InMemoryKeyService()
    let store: any SecureStore
    let clock: ManualClock
    let wire: Wire
    let vault: Vault
    var configuration: VaultConfiguration

    static let password = "tea at half past four"
    /// Plays alice in front of a browser.
    static let alice = ScriptedBrowser(username: "alice", password: "alice-password")

    init(
        _ backend: DevelopmentBackend, clock: ManualClock, store: any SecureStore,
        configure: (inout VaultConfiguration) -> Void
    ) async throws {
        self.backend = backend
        self.clock = clock
        self.store = store
        wire = Wire()
        configuration = VaultConfiguration(
            issuer: backend.url, keyServiceURL: "https://keys.example.com", scopes: ["profile:read", "items:read"],
            argon2: .insecureForTests)
        configure(&configuration)
        vault = try await Vault(configuration, store: store, keyService: keyService, transport: wire, clock: clock)
    }

    /// Stops the backend: from now on connections to it are refused.
    func stopBackend() async {
        await backend.stop()
        wire.base.dropConnections()
    }

    /// Another vault on the same store: the program started again.
    func anotherVault(
        store other: (any SecureStore)? = nil, configure: (inout VaultConfiguration) -> Void = { _ in }
    ) async throws -> Vault {
        var configuration = configuration
        configure(&configuration)
        return try await Vault(
            configuration, store: other ?? store, keyService: keyService, transport: wire, clock: clock)
    }

    /// Signs in and stores the account.
    @discardableResult
    func register(_ way: any SignIn) async throws -> Session {
        try await vault.storage.storeRefreshToken(
            vault.auth.signIn(way), withNewPassword: SecretBytes(utf8: Self.password))
    }

    /// Logs in with the password in a program that was started again.
    @discardableResult
    func login() async throws -> Vault {
        let vault = try await anotherVault()
        try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Self.password))
        return vault
    }

    /// Restores the session in a program that was started again.
    func restore() async throws -> (restored: RestoredSession, vault: Vault) {
        let vault = try await anotherVault()
        let restored = try await vault.auth.restoreSession(userID: "alice", password: SecretBytes(utf8: Self.password))
        return (restored, vault)
    }

    func account() async throws -> Account { try await vault.storage.account(userID: "alice") }

    /// The stored credential, sealed.
    func sealedCredential() async throws -> [UInt8]? {
        try await store.item(.refreshToken, of: account().id)
    }

    /// The stored credential, opened.
    func credential() async throws -> Credential {
        try await vault.storage.storedRefreshToken(userID: "alice", password: SecretBytes(utf8: Self.password))
            .credential
    }

    /// Posts JSON to the backend as another program would.
    @discardableResult
    func post(_ path: String, _ json: String) async throws -> Int {
        var request = HTTPRequest(
            method: .post, scheme: "http", authority: "127.0.0.1:\(backend.port)", path: path)
        request.headerFields[.contentType] = "application/json"
        return try await wire.send(request, body: Array(json.utf8), limits: HTTPLimits()).status.code
    }

    /// The requests that the backend got.
    var asked: [BackendRequest.Endpoint] { get async { await backend.requests.map(\.endpoint) } }
}

/// The changes that a test makes to backend and vault.
struct BackendsArrangement {
    var store: any SecureStore = InMemoryStore()
    var options: (inout DevelopmentBackend.Options) -> Void = { _ in }
    var configure: (inout VaultConfiguration) -> Void = { _ in }
}

/// Runs `body` with a fixture whose backend is stopped afterwards. The backend is lenient, unless the arrangement
/// changes that.
func withBackend(_ arrangement: BackendsArrangement = .init(), _ body: (BackendsFixture) async throws -> Void)
    async throws
{
    let clock = ManualClock()
    var options = DevelopmentBackend.Options()
    options.now = { clock.now }
    options.isLenient = true
    arrangement.options(&options)
    try await withDevelopmentBackend(options) { backend in
        try await body(
            BackendsFixture(backend, clock: clock, store: arrangement.store, configure: arrangement.configure))
    }
}

/// The error of the vault that `body` throws; nil when it throws none. Any other error fails the test.
func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> VaultError? {
    await thrown(VaultError.self, sourceLocation: sourceLocation, body)
}

/// A transport that records its messages, and answers for the backend if a test says so.
final class Wire: HTTPTransport {
    struct Message: Sendable {
        let method: String
        let authority: String?
        let path: String
        let authorization: String?
        let body: String

        /// The body's members when it is JSON.
        var json: [String: String] { (try? JSONDecoder().decode([String: String].self, from: Data(body.utf8))) ?? [:] }
    }

    private struct State {
        var messages: [Message] = []
        var answers: [String: (answer: HTTPAnswer, times: Int)] = [:]
        var failures: [String: HTTPError.Code] = [:]
        var wantsToken = false

        /// The answer for the backend to a request, if a test says so.
        mutating func answer(to path: String, hasToken: Bool) -> HTTPAnswer? {
            if wantsToken && !hasToken { return HTTPAnswer(status: .unauthorized) }
            guard let (answer, times) = answers[path] else { return nil }
            answers[path] = times > 1 ? (answer, times - 1) : nil
            return answer
        }
    }

    let base = Network()
    private let state = Lock(State())

    var messages: [Message] { state.withLock { $0.messages } }

    func messages(to path: String) -> [Message] { messages.filter { $0.path == path } }

    /// Answers requests to `path` with this answer, from now on or `times` times. Nil lets the backend answer again.
    func answer(_ path: String, _ body: String?, status: Int = 200, fields: HTTPFields = [:], times: Int = .max) {
        state.withLock {
            $0.answers[path] = body.map {
                (HTTPAnswer(status: .init(code: status), headerFields: fields, body: Array($0.utf8)), times)
            }
        }
    }

    /// Answers 401 to each request without a token, as a proxy that checks only this.
    func wantToken() { state.withLock { $0.wantsToken = true } }

    /// Makes requests to `path` fail; nil ends that.
    func fail(_ path: String, _ code: HTTPError.Code?) { state.withLock { $0.failures[path] = code } }

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        let path = String((request.path ?? "/").prefix { $0 != "?" })
        let (answer, failure) = state.withLock { state in
            state.messages.append(
                Message(
                    method: request.method.rawValue, authority: request.authority, path: path,
                    authorization: request.headerFields[.authorization],
                    body: String(decoding: body, as: UTF8.self)))
            let hasToken = request.headerFields[.authorization] != nil
            return (state.answer(to: path, hasToken: hasToken), state.failures[path])
        }
        if let failure { throw HTTPError(failure, authority: request.authority ?? "") }
        if let answer { return answer }
        return try await base.send(request, body: body, limits: limits)
    }
}

/// Types user name and password, or a code, when asked, and remembers the reasons.
final class Typist: CredentialPrompt {
    private let answer: @Sendable () throws -> UserCredentials
    private let code: String?
    private let log = Lock<[CredentialRequest]>([])
    private let codeLog = Lock<[CodeRequest]>([])

    init(_ username: String = "alice", _ password: String = "alice-password", code: String? = nil) {
        answer = { UserCredentials(username: username, password: SharedSecret(try SecretBytes(utf8: password))) }
        self.code = code
    }

    /// A person who cancels.
    init(refusing: Void) {
        answer = { throw CancellationError() }
        code = nil
    }

    var codeRequests: [CodeRequest] { codeLog.withLock { $0 } }

    func code(for request: CodeRequest) async throws -> SharedSecret {
        codeLog.withLock { $0.append(request) }
        guard let code else { throw CancellationError() }
        return SharedSecret(try SecretBytes(utf8: code))
    }

    var requests: [CredentialRequest] { log.withLock { $0 } }

    func credentials(for request: CredentialRequest) async throws -> UserCredentials {
        log.withLock { $0.append(request) }
        return try answer()
    }
}
