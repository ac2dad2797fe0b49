import Foundation
import HTTPTypes
import Testing
import VaultAuth
import VaultCrypto
import VaultHTTP
import VaultStorage
import VaultTesting
import VaultUnlock

/// A machine's policy that changes while an app has an account open, without an agent.
@Suite(.timeLimit(.minutes(1))) struct ObeyedPolicyTests {
    private static let password = "tea at half past four"
    private static let onlyPassword = #"{"allowed-unlock-methods": ["password"]}"#

    /// An app with an open account, and the file of the machine's policy.
    private final class App {
        let test = TestVault()
        let clock = ManualContinuousClock()
        let folder = NSTemporaryDirectory() + "obeyed-policy-\(UUID().uuidString)"
        let auth: Auth
        let id: AccountID

        init() async throws {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            id = try await test.addAccount("alice", password: ObeyedPolicyTests.password, pin: "8264")
            var accounts = Accounts(
                store: test.store, clock: test.clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
                policy: .standard, keyServiceURL: "https://keys.example", timer: clock,
                services: KeyServices(released: { [test] _ in test.keyService }))
            accounts.obeyed = try ObeyedPolicy(
                .standard, watching: WatchedPolicy(file: folder + "/policy.json", owner: geteuid(), tick: nil))
            auth = Auth(
                settings: nil,
                opener: SessionOpener(
                    accounts: accounts, issuers: [test.provider],
                    transport: FakeTransport { request, _ in
                        throw HTTPError(.notConnected, authority: request.authority ?? "")
                    }), listening: NoRedirects())
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func login() async throws -> Session {
            try await auth.login(id, with: .password(SecretBytes(utf8: ObeyedPolicyTests.password)))
        }

        func setPolicy(_ json: String) throws {
            try Data(json.utf8).write(to: URL(fileURLWithPath: folder + "/policy.json"))
            #expect(chmod(folder + "/policy.json", 0o644) == 0)
        }

        /// The reason of the next lock.
        func lock(_ body: () async throws -> Void) async throws -> SessionUpdate.Reason? {
            let updates = auth.sessionUpdates(replaying: false)
            try await body()
            for await update in updates where update.event == .locked { return update.reason }
            return nil
        }
    }

    @Test func `when an idle limit is added, then idle sessions lock`() async throws {
        let app = try await App()
        let session = try await app.login()
        app.clock.advance(by: .seconds(1000))
        _ = try await session.accessToken()
        try app.setPolicy(#"{"maximum-idle-minutes": 1}"#)
        app.clock.advance(by: .seconds(59), wakesSleepers: false)
        _ = try await session.accessToken()
        // Also if nobody uses it.
        let reason = try await app.lock {
            await app.clock.waitForSleeper()
            app.clock.advance(by: .seconds(60))
        }
        #expect(reason == .idle && !session.isOpen)
    }

    @Test func `when a lifetime is added, then it counts from login`() async throws {
        let app = try await App()
        let session = try await app.login()
        app.clock.advance(by: .seconds(3600))
        _ = try await session.openVaultKey()
        try app.setPolicy(#"{"maximum-session-hours": 1}"#)
        let reason = try await app.lock {
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
        }
        #expect(reason == .lifetime)
    }

    @Test func `when the policy forbids the unlock method, then sessions lock`() async throws {
        let uses: [(Session) async throws -> Void] = [
            { _ = try await $0.accessToken() }, { _ = try await $0.openVaultKey() }, { _ = try await $0.items.names() },
            { _ = try await $0.refreshToken() },
        ]
        for use in uses {
            let app = try await App()
            let session = try await app.auth.login(app.id, with: .pin(SecretBytes(utf8: "8264")))
            try await use(session)
            try app.setPolicy(Self.onlyPassword)
            let reason = try await app.lock { #expect(await failure { try await use(session) }?.code == .notLoggedIn) }
            #expect(reason == .forbidden && !app.auth.isLoggedIn)
        }
    }

    @Test func `when another unlock method is forbidden, then the session stays`() async throws {
        let app = try await App()
        let session = try await app.login()
        try app.setPolicy(Self.onlyPassword)
        _ = try await session.accessToken()
        let secret = try UnlockMethod.pin(SecretBytes(utf8: "8264"))
        #expect(await failure { try await session.reauthenticate(with: secret) }?.code == .forbiddenByPolicy)
        #expect(session.isOpen)
    }

    @Test func `when the policy's idle limit is shorter, then it counts`() async throws {
        let app = try await App()
        let session = try await app.login()
        await app.auth.enableIdleTimeout(.seconds(600), clock: app.clock) {}
        try app.setPolicy(#"{"maximum-idle-minutes": 1}"#)
        _ = try await session.accessToken()
        app.clock.advance(by: .seconds(60), wakesSleepers: false)
        #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
    }

    /// - Parameter isUsed: whether the session itself sees the policy, or only another part of the app.
    @Test(arguments: [true, false])
    func `when the policy file breaks, then the last policy holds`(isUsed: Bool) async throws {
        let app = try await App()
        let session = try await app.login()
        try app.setPolicy(#"{"maximum-session-hours": 1, "minimum-pin-length": 6}"#)
        if isUsed { _ = try await session.accessToken() } else { _ = app.auth.accounts.policy }
        try app.setPolicy("{")
        #expect(app.auth.accounts.policy.minimumPINLength == 6)
        app.clock.advance(by: .seconds(3600), wakesSleepers: false)
        #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
    }
}
