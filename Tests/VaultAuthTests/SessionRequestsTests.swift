import CredentialVault
import HTTPTypes
import Testing
import VaultTesting

/// Requests that belong to one person's session.
@Suite struct SessionRequestsTests {
    private static let base = "https://api.example.com"
    private let test = TestVault()
    private let alice: Session
    private let bob: AccountID

    init() async throws {
        let id = try await test.addAccount("alice", password: "tea at half past four", pin: "8264")
        bob = try await test.addAccount("bob", password: "coffee at nine o'clock", pin: "7391")
        alice = try await test.auth.login(id, with: .pin(SecretBytes(utf8: "8264")))
    }

    private func loginBob() async throws {
        try await test.auth.login(bob, with: .pin(SecretBytes(utf8: "7391")))
    }

    /// The owners of the tokens that were sent.
    private func owners(_ network: FakeTransport) -> [String?] {
        network.sent.map { sent in
            sent.request.headerFields[.authorization].map { $0.contains("access-alice-") ? "alice" : $0 }
        }
    }

    @Test func `when Bob logs in, then Alice's old client is refused`() async throws {
        let network = FakeTransport { _, _ in HTTPAnswer(status: .created) }
        let api = try alice.authorizedTransport(baseURL: Self.base, over: network)
        try await api.post("notes", "note 1 of alice")
        try await loginBob()
        #expect(await failure { try await api.post("notes", "note 2 of alice") }?.code == .notLoggedIn)
        #expect(owners(network) == ["alice"])
        // When Alice comes back, her old client stays closed, and a new one works.
        let again = try await test.auth.login(alice.id, with: .pin(SecretBytes(utf8: "8264")))
        #expect(await failure { try await api.post("notes", "note 2 of alice") }?.code == .notLoggedIn)
        try await again.authorizedTransport(baseURL: Self.base, over: network).post("notes", "note 2 of alice")
        #expect(owners(network) == ["alice", "alice"])
    }

    @Test func `when a token is refused, then the request is repeated`() async throws {
        let old = try await alice.accessToken().value
        let network = FakeTransport { request, _ in
            HTTPAnswer(status: request.headerFields[.authorization] == "Bearer \(old)" ? .unauthorized : .ok)
        }
        let api = try alice.authorizedTransport(for: [Self.base], over: network)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/notes")
        #expect(try await api.send(request, body: [], limits: HTTPLimits()).status == .ok)
        #expect(owners(network) == ["alice", "alice"])
    }

    @Test func `when Bob logs in meanwhile, then no repeat is sent`() async throws {
        let network = FakeTransport { [test, bob] _, _ in
            try await test.auth.login(bob, with: .pin(SecretBytes(utf8: "7391")))
            return HTTPAnswer(status: .unauthorized)
        }
        let api = try alice.authorizedTransport(baseURL: Self.base, over: network)
        #expect(await failure { try await api.post("notes", "note of alice") }?.code == .notLoggedIn)
        #expect(owners(network) == ["alice"])
    }

    @Test func `when the origin differs, then the request has no token`() async throws {
        let network = FakeTransport { _, _ in HTTPAnswer(status: .ok) }
        let api = try alice.authorizedTransport(for: [Self.base], over: network)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "elsewhere.example", path: "/")
        _ = try await api.send(request, body: [], limits: HTTPLimits())
        #expect(owners(network) == [nil])
        #expect(throws: VaultError.self) { try alice.authorizedTransport(for: ["http://api.example.com"]) }
    }

    @Test func `when the session is locked, then nothing is sent`() async throws {
        let network = FakeTransport { _, _ in HTTPAnswer(status: .ok) }
        let api = try alice.authorizedTransport(baseURL: Self.base, over: network)
        await test.auth.lock()
        #expect(await failure { try await api.delete("notes/7") }?.code == .notLoggedIn)
        #expect(network.sent.isEmpty)
    }

    @Test func `when no transport is given, then the vault's is used`() async throws {
        let network = FakeTransport { _, _ in HTTPAnswer(status: .ok, body: Array("[]".utf8)) }
        let test = TestVault(transport: network)
        let id = try await test.addAccount("alice", password: "tea at half past four")
        let session = try await test.auth.login(id, with: .password(SecretBytes(utf8: "tea at half past four")))
        #expect(try await session.authorizedTransport(baseURL: Self.base).get("notes", as: [String].self) == [])
        #expect(network.sent.count == 1)
    }
}
