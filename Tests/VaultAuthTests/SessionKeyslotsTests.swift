import CredentialVault
import Testing
import VaultTesting

/// Unlock methods that an app adds to an open account.
@Suite struct SessionKeyslotsTests {
    private static let password = "tea at half past four"
    private let test = TestVault()
    private let alice: AccountID
    private let session: Session

    init() async throws {
        alice = try await test.addAccount("alice", password: Self.password)
        session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
    }

    private func kinds() async throws -> [Keyslot.Kind] {
        try await test.storage.keyslotSummaries(of: alice).map(\.kind)
    }

    @Test func `when a session sets a PIN, then that PIN opens`() async throws {
        try await session.setPIN(SecretBytes(utf8: "8264"))
        await test.auth.lock()
        #expect(try await test.auth.unlock(alice, with: .pin(SecretBytes(utf8: "8264"))).isOpen)
    }

    @Test func `when showing a code fails, then the old code stays`() async throws {
        let first = SharedText()
        try await session.addRecoveryCode { first.text = $0.bytes.utf8String() ?? "" }
        await #expect(throws: CancellationError.self) {
            try await session.addRecoveryCode { _ in throw CancellationError() }
        }
        #expect(try await kinds().filter { $0 == .recovery }.count == 1)
        await test.auth.lock()
        let opened = try await test.auth.unlock(alice, with: .recoveryCode(SecretBytes(utf8: first.text)))
        #expect(opened.isOpen)
    }

    @Test func `when dropping is requested, then only the new password stays`() async throws {
        try await session.setPIN(SecretBytes(utf8: "8264"))
        try await session.addOffline(password: SecretBytes(utf8: Self.password))
        try await session.setPassword(SecretBytes(utf8: "seven otters juggle"))
        #expect(try await Set(kinds()) == [.password, .pin, .offline])
        try await session.setPassword(SecretBytes(utf8: "nine otters juggle"), dropsOtherMethods: true)
        #expect(try await kinds() == [.password])
        await test.auth.lock()
        let opened = try await test.auth.unlock(alice, with: .password(SecretBytes(utf8: "nine otters juggle")))
        #expect(opened.isOpen)
    }

    @Test func `when hardware has a label, then renaming and removing work`() async throws {
        try await session.addHardware(
            ScriptedHardwareKey(pin: "123456"), prompt: ScriptedPrompt("123456"), label: "blue")
        let way = try #require(try await test.storage.keyslotSummaries(of: alice).first { $0.label == "blue" })
        try await test.storage.renameKeyslot(way.id, of: alice, to: "green")
        #expect(try await test.storage.keyslotSummaries(of: alice).contains { $0.label == "green" })
        try await test.storage.removeKeyslot(way.id, of: alice)
        #expect(try await kinds() == [.password])
    }

    @Test func `when the session is locked, then no PIN is added`() async throws {
        await session.lock()
        do {
            try await session.setPIN(SecretBytes(utf8: "8264"))
            Issue.record("a locked session took a PIN")
        } catch {
            #expect((error as? VaultError)?.code == .notLoggedIn)
        }
        #expect(try await kinds() == [.password])
    }
}

/// The stored data if somebody locks at the same time.
@Suite struct LockedMeanwhileTests {
    @Test func `when a lock interrupts storing, then the login stays locked`() async throws {
        let clock = ManualContinuousClock()
        let test = TestVault(keyService: { SlowKeyService($0, delay: .seconds(5), clock: clock) })
        let password = "tea at half past four"
        let token = try await test.auth.signIn(test.provider.signIn("alice"))
        let storing = Task {
            try await test.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: password))
        }
        await clock.waitForSleeper()
        await test.auth.lock()
        clock.advance(by: .seconds(5))
        let session = try await storing.value
        #expect(!session.isOpen && test.auth.session == nil)
        let unlocking = Task { try await test.auth.unlock(userID: "alice", password: SecretBytes(utf8: password)) }
        await clock.waitForSleeper()
        clock.advance(by: .seconds(5))
        #expect(try await unlocking.value.isOpen)
    }
}

private final class SharedText: @unchecked Sendable {
    nonisolated(unsafe) var text = ""
}
