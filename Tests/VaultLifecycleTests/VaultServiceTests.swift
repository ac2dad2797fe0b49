import CredentialVault
import ServiceLifecycle
import ServiceLifecycleTestKit
import TestSupport
import Testing
import VaultLifecycle
import VaultStorage
import VaultTesting

/// The end of an app that runs its vault as a service.
@Suite(.timeLimit(.minutes(1))) struct VaultServiceTests {
    private static let password = "tea at half past four"
    private let test = TestVault()
    private let other = TestVault()

    private func login(_ test: TestVault) async throws -> Session {
        let alice = try await test.addAccount("alice", password: Self.password)
        return try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
    }

    private static func vault(_ test: TestVault) -> Vault { Vault(auth: test.auth, storage: test.storage) }

    /// Runs a service whose group stops at once.
    private static func stop(_ service: VaultService) async throws {
        try await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            try await service.run()
        }
    }

    @Test func `when the app stops, then the account is locked`() async throws {
        let session = try await login(test)
        let updates = test.auth.sessionUpdates
        try await Self.stop(VaultService(Self.vault(test)))
        #expect(!session.isOpen && !test.auth.isLoggedIn)
        #expect(await updates.first { $0.event == .locked }?.reason == .programStops)
    }

    @Test func `when the group is cancelled, then the account is locked`() async throws {
        let session = try await login(test)
        let running = Task { [test] in try await VaultService(Self.vault(test)).run() }
        running.cancel()
        try await running.value
        #expect(!session.isOpen)
    }

    @Test func `when an app has many vaults, then all are locked`() async throws {
        let sessions = [try await login(test), try await login(other)]
        try await Self.stop(VaultService(vaults: { [test, other] in [Self.vault(test), Self.vault(other)] }))
        #expect(sessions.map(\.isOpen) == [false, false])
    }

    @Test func `when a token is being renewed, then stopping waits`() async throws {
        let session = try await login(test)
        let (stopGuard, ended) = (test.auth.stopGuard, Counter())
        let (answers, provider) = AsyncStream.makeStream(of: Void.self)
        // Runs at once, until it has to wait.
        let renewal = Task.immediate {
            try await stopGuard.run {
                for await _ in answers {}
                return ended.increment()
            }
        }
        let updates = test.auth.sessionUpdates
        let stopping = Task { [test] in
            try await Self.stop(VaultService(Self.vault(test)))
            return ended.increment()
        }
        _ = await updates.first { $0.event == .locked }
        #expect(!session.isOpen && ended.value == 0)
        provider.finish()
        #expect(try await renewal.value == 1)
        #expect(try await stopping.value == 2)
    }

    @Test func `when the app has stopped, then no renewal begins`() async throws {
        let (stopGuard, begun) = (test.auth.stopGuard, Counter())
        try await Self.stop(VaultService(Self.vault(test)))
        await #expect(throws: CancellationError.self) { try await stopGuard.run { _ = begun.increment() } }
        #expect(begun.value == 0)
    }
}
