import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultBase
import VaultDevelopment
import VaultTesting

/// A login after signing in and before storing.
@Suite(.timeLimit(.minutes(1))) struct UnstoredLoginTests {
    private func store(_ login: SignInResult, in vault: Vault) async throws {
        try await vault.storage.storeRefreshToken(login, withNewPassword: SecretBytes(utf8: Fixture.password))
    }

    @Test func `when a login is abandoned, then the present session stays`() async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            let updates = auth.sessionUpdates
            _ = try await fixture.signIn("bob")
            #expect(!auth.isLoggedIn && auth.session == nil)
            #expect(await failure { _ = try await auth.accessToken() }?.code == .notLoggedIn)
            #expect(await failure { _ = try await auth.refreshToken }?.code == .notLoggedIn)
            #expect(await failure { _ = try await auth.userInfo() }?.code == .notLoggedIn)

            let session = try await fixture.register("alice")
            let mine = try await session.accessToken().value
            let bobs = try await fixture.signIn("bob")
            #expect(auth.session === session && auth.isLoggedIn)
            #expect(try await auth.accessToken().value == mine)
            let server = Recorder()
            let api = try auth.authorizedTransport(for: [Recorder.origin], over: server)
            _ = try await api.send(Recorder.request, body: [], limits: HTTPLimits())
            #expect(server.tokens == ["Bearer \(mine)"])
            // Storing fails, but alice is still logged in.
            fixture.keyService.isReachable = false
            #expect(await failure { try await store(bobs, in: fixture.vault) } != nil)
            fixture.keyService.isReachable = true
            #expect(auth.session === session)
            // The second try stores it.
            try await store(bobs, in: fixture.vault)
            #expect(auth.session?.id == bobs.account && !session.isOpen)
            let told = await updates.prefix(3).reduce(into: []) { $0.append($1.event.description) }
            #expect(told == ["logged in", "logged out", "logged in"])
        }
    }

    @Test func `when unstored logins renew, then their newest tokens are stored`() async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            let login = try await fixture.signIn()
            let first = try #require(login.accessToken?.value)
            #expect(try await auth.accessToken(of: login).value == first)
            fixture.clock.advance(by: 250)
            let second = try await auth.accessToken(of: login).value
            #expect(second != first)
            let third = try await auth.accessToken(of: login, forceRefresh: true).value
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1, 2])
            #expect(!auth.isLoggedIn)
            try await store(login, in: fixture.vault)
            #expect(try await auth.accessToken().value == third)
            _ = try await auth.accessToken(forceRefresh: true)
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1, 2, 3])
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
            // The login now uses the account's token.
            #expect(try await auth.accessToken(of: login).value == auth.accessToken().value)
        }
    }

    @Test func `when an unstored login is refused, then a renewal follows`() async throws {
        try await withFixture { fixture in
            let login = try await fixture.signIn()
            let server = Recorder(refusing: try #require(login.accessToken?.value))
            let api = try fixture.vault.auth.authorizedTransport(for: [Recorder.origin], as: login, over: server)
            #expect(try await api.send(Recorder.request, body: [], limits: HTTPLimits()).status == .ok)
            #expect(Set(server.tokens).count == 2)
            #expect(await fixture.refreshes.map(\.outcome) == [.ok])
        }
    }

    @Test func `when a login is stored already, then storing again fails`() async throws {
        try await withFixture { fixture in
            let login = try await fixture.signIn()
            try await store(login, in: fixture.vault)
            _ = try await fixture.vault.auth.accessToken(forceRefresh: true)
            let stored = try await fixture.store.item(.refreshToken, of: login.account)
            let again = await failure {
                try await fixture.vault.storage.storeRefreshToken(
                    login, withExistingPassword: SecretBytes(utf8: Fixture.password))
            }
            #expect(again?.code == .notLoggedIn)
            #expect(try await fixture.store.item(.refreshToken, of: login.account) == stored)
            await fixture.vault.auth.lock()
            #expect(await failure { _ = try await fixture.vault.auth.accessToken(of: login) }?.code == .notLoggedIn)
        }
    }

    @Test func `when a renewal is running, then storing waits`() async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            for _ in 0..<3 {
                let login = try await fixture.signIn()
                await fixture.provider.setFault(.delayAnswer, times: 1)
                let asking = (0..<4).map { _ in
                    Task { try await auth.accessToken(of: login, forceRefresh: true).value }
                }
                await fixture.provider.waitUntilDelayed()
                asking.first?.cancel()
                async let storing: Void = store(login, in: fixture.vault)
                for _ in 0..<20 { await Task.yield() }
                await fixture.provider.releaseDelayed()
                try await storing
                var values: Set<String> = []
                for task in asking { if let value = try? await task.value { values.insert(value) } }
                #expect(values.count <= 1)
                _ = try await auth.accessToken(forceRefresh: true)
                #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
            }
        }
    }

    @Test func `when the provider revokes a login, then storing it fails`() async throws {
        try await withFixture { fixture in
            let login = try await fixture.signIn()
            try await fixture.provider.revokeAllRefreshTokens()
            let error = await failure { _ = try await fixture.vault.auth.accessToken(of: login, forceRefresh: true) }
            #expect(error?.code == .refreshTokenExpired)
            // The access token is not handed out any more. The dead refresh token is neither sent nor stored.
            let asked = await fixture.refreshes.count
            #expect(
                await failure { _ = try await fixture.vault.auth.accessToken(of: login) }?.code == .refreshTokenExpired)
            #expect(await failure { try await store(login, in: fixture.vault) }?.code == .refreshTokenExpired)
            #expect(await fixture.refreshes.count == asked)
        }
    }

    @Test func `when an unstored login is revoked, then its use fails`() async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            let login = try await fixture.signIn()
            await fixture.provider.setFault(.delayAnswer, times: 1)
            let asking = Task { try await auth.accessToken(of: login, forceRefresh: true) }
            await fixture.provider.waitUntilDelayed()
            async let revoking = auth.revoke(login)
            for _ in 0..<20 { await Task.yield() }
            await fixture.provider.releaseDelayed()
            #expect(await revoking == nil)
            _ = await asking.result
            #expect(await failure { _ = try await auth.accessToken(of: login) }?.code == .notLoggedIn)
            #expect(await failure { try await store(login, in: fixture.vault) }?.code == .notLoggedIn)
        }
    }
}

/// A server that refuses exactly one token.
private final class Recorder: HTTPTransport {
    static let origin = "https://api.example.com"
    static let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/")
    private let refused: String?
    private let seen = Lock<[String]>([])

    init(refusing refused: String? = nil) { self.refused = refused }

    var tokens: [String] { seen.withLock { $0 } }

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        let token = request.headerFields[.authorization] ?? ""
        seen.withLock { $0.append(token) }
        let isRefused = refused.map { token.hasSuffix($0) } ?? false
        return HTTPAnswer(status: isRefused ? .unauthorized : .ok, headerFields: [:], body: [])
    }
}
