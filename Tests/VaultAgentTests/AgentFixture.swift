import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultAgentProtocol
import VaultAuth
import VaultCrypto
import VaultHTTP
import VaultStorage
import VaultTesting
import VaultUnlock

@testable import VaultAgent

/// An agent with a real socket, over a vault in memory. Its limits are counted on a clock that the test moves.
final class AgentFixture: Sendable {
    let test = TestVault()
    let clock = ManualContinuousClock()
    /// The provider of the test vault, in the agent's form.
    let provider: HookedProvider
    /// Runs when a login has begun, before its session is held.
    let opening = Hook()
    let sessions: HeldSessions
    let server: AgentServer
    let client: AgentClient
    private let folder: String
    private let policyFile: String

    static let password = "tea at half past four"
    /// A session that the provider has confirmed.
    static let confirmed = AgentContact(isOffline: false, isConfirmed: true, mayBeRevoked: false)
    static let rules = HoldingRules(idleSeconds: 600, lifetimeSeconds: 3600, isExclusive: false)

    /// - Parameters:
    ///   - version: a number that changes with the store; nil if the agent must look up each name.
    ///   - tick: a number that changes when the agent must look at the version again; nil for each request.
    init(
        consent: ProgramConsent? = nil, version: @escaping @Sendable () -> Int64? = { nil },
        tick: (@Sendable () -> Int)? = nil
    ) throws {
        folder = NSTemporaryDirectory() + "agent-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = folder + "/agent.sock"
        let (test, timer, provider) = (test, ManualContinuousClock(), HookedProvider(test.provider))
        let opening = opening
        self.provider = provider
        policyFile = folder + "/policy.json"
        let policy = WatchedPolicy(file: policyFile, owner: geteuid(), tick: nil)
        sessions = HeldSessions(clock: SteadyClock(clock), policy: policy) {
            await opening.run()
            // As in the agent: each session has its own vault, over one store.
            var accounts = Self.accounts(test, test.clock, timer)
            accounts.obeyed = try ObeyedPolicy(.standard, watching: policy)
            return SessionOpener(
                accounts: accounts, issuers: [provider],
                transport: FakeTransport { request, _ in
                    throw HTTPError(.notConnected, authority: request.authority ?? "")
                })
        }
        var accounts = test.accounts
        accounts.obeyed = try ObeyedPolicy(.standard, watching: policy)
        let requestHandler = AgentRequestHandler(
            sessions: sessions, accounts: accounts, folder: folder, version: version, tick: tick,
            isInPlace: { true }, consent: consent, accountTable: { "table\n" }, listening: { [] })
        server = try AgentServer(requestHandler: requestHandler)
        client = AgentClient(path: path)
        let (listener, server) = (try AgentListener(path: path), server)
        Thread.detachNewThread { @Sendable in server.run(listener) }
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Writes the machine's policy.
    ///
    /// - Parameter json: nil to remove it.
    func setPolicy(_ json: String?) throws {
        guard let json else { return try FileManager.default.removeItem(atPath: policyFile) }
        try Data(json.utf8).write(to: URL(fileURLWithPath: policyFile))
        #expect(chmod(policyFile, 0o644) == 0)
    }

    /// An account that is logged in and left to the agent.
    @discardableResult
    func held(_ name: String = "alice", _ rules: HoldingRules = rules) async throws -> AccountID {
        let id = try await test.addAccount(name, password: Self.password)
        try await hold(id, rules)
        return id
    }

    /// Logs in again, and leaves the session to the agent.
    func hold(_ id: AccountID, _ rules: HoldingRules = rules) async throws {
        try await hold(id, vaultKey: vaultKey(id), rules)
        await test.auth.lock(.requested)
    }

    /// - Parameter locks: the number of locks when the secret was given; nil for the number of now.
    func hold(
        _ id: AccountID, vaultKey: [UInt8], _ rules: HoldingRules = rules, _ contact: AgentContact = confirmed,
        locks: UInt64? = nil
    ) async throws {
        var number = locks
        if number == nil { number = try await self.locks() }
        _ = try await client.ask(.hold(AgentAccount(id), vaultKey: vaultKey, rules, contact, locks: number ?? 0))
    }

    /// The number of the agent's locks.
    func locks() async throws -> UInt64 {
        guard case .locks(let number) = try await client.ask(.locks) else { throw AgentProtocolError.malformed }
        return number
    }

    /// Logs in without the agent.
    ///
    /// - Parameter method: the unlock method; nil for the password.
    func vaultKey(_ id: AccountID, with method: UnlockMethod? = nil) async throws -> [UInt8] {
        let password = try UnlockMethod.password(SecretBytes(utf8: Self.password))
        let session = try await test.auth.login(id, with: method ?? password)
        return try await session.openVaultKey().bytes?.bytes.withUnsafeBytes { Array($0) } ?? []
    }

    /// - Parameter timer: counts the pauses before something is tried again.
    private static func accounts(_ test: TestVault, _ clock: ManualClock, _ timer: any Clock<Duration>) -> Accounts {
        Accounts(
            store: test.store, clock: clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: .standard, keyServiceURL: "https://keys.example", timer: timer,
            services: KeyServices(released: { _ in test.keyService }))
    }

    /// An app that finds the agent.
    ///
    /// - Parameter clock: the app's clock; nil for the one of the vault.
    func app(clock: ManualClock? = nil) -> Auth {
        Auth(
            settings: nil,
            opener: SessionOpener(
                accounts: Self.accounts(test, clock ?? test.clock, self.clock), issuers: [test.provider],
                transport: FakeTransport { request, _ in
                    throw HTTPError(.notConnected, authority: request.authority ?? "")
                }, agent: client.attach), listening: NoRedirects())
    }

    /// The locks of a session, as an app that attached to it sees them.
    func lockEvents(of id: AccountID) async throws -> AsyncStream<SessionUpdate> {
        let app = app()
        _ = try await app.attach(id)
        let updates = app.sessionUpdates(replaying: false)
        return AsyncStream { continuation in
            let task = Task {
                for await update in updates where update.event == .locked { continuation.yield(update) }
                withExtendedLifetime(app) {}
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    func token(_ id: AccountID, _ wish: AgentTokenWish = AgentTokenWish()) async throws -> AgentToken {
        guard case .token(let token) = try await client.ask(.token(AgentAccount(id), wish)) else {
            throw AgentProtocolError.malformed
        }
        return token
    }
}

/// The code of the error that `body` throws, as an app gets it; nil if it throws none. Any other error fails the test.
func code(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> VaultError.Code? {
    await thrown(\VaultError.code, sourceLocation: sourceLocation) {
        do { try await body() } catch { throw VaultError.converting(error) }
    }
}
