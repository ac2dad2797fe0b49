import CredentialVault
import Testing
import VaultTesting

/// Accounts that the keyring of the desktop opens, without a question.
@Suite(.timeLimit(.minutes(1))) struct DesktopTests {
    private static let password = "tea at half past four"
    private let test = TestVault()
    private let keyring = InMemoryDesktopKeyring()
    private let alice: AccountID
    private let session: Session

    init() async throws {
        alice = try await test.addAccount("alice", password: Self.password)
        session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
    }

    private func kinds() async throws -> Set<Keyslot.Kind> {
        Set(try await test.storage.keyslotSummaries(of: alice).map(\.kind))
    }

    @Test func `when a session adds the desktop, then it logs in`() async throws {
        try await session.addDesktop(keyring)
        await test.auth.lock()
        let calls = test.keyService.calls
        let opened = try await test.auth.login(alice, with: .desktop(keyring))
        #expect(opened.isOpen && opened.isConfirmed)
        #expect(test.keyService.calls == calls + 1, "the owner can revoke the machine")
        // It is no hardware: an app that offers hardware does not offer it.
        #expect(try await !test.storage.hasBiometricAccess(userID: "alice"))
        try await test.storage.disableBiometricAccess(userID: "alice")
        #expect(try await kinds() == [.password, .desktop])
    }

    @Test func `when the desktop opened a session, then it adds nothing`() async throws {
        try await session.addDesktop(keyring)
        await test.auth.lock()
        let opened = try await test.auth.login(alice, with: .desktop(keyring))
        let pin = SharedSecret(try SecretBytes(utf8: "8264"))
        let refused = [
            await failure { try await opened.setPIN(pin.bytes) },
            await failure { try await opened.setPassword(SecretBytes(utf8: "seven otters juggle")) },
            await failure { try await opened.addRecoveryCode { _ in } },
            await failure { try await opened.addDesktop(keyring) },
            await failure { try await opened.reauthenticate(with: .desktop(keyring)) },
            await failure { _ = try await opened.replaceVaultKey(keeping: .desktop(keyring)) },
            await failure { try await test.storage.setPIN(pin.bytes, of: alice, with: .desktop(keyring)) },
        ]
        for (number, error) in refused.enumerated() { #expect(error?.code == .secretRequired, "\(number)") }
        #expect(try await kinds() == [.password, .desktop])
        try await opened.reauthenticate(with: .password(SecretBytes(utf8: Self.password)))
        try await opened.setPIN(pin.bytes)
        #expect(try await kinds() == [.password, .desktop, .pin])
    }

    @Test func `when registered again through the desktop, then it adds nothing`() async throws {
        try await withFixture { fixture in
            try await fixture.register().addDesktop(keyring)
            let token = try await fixture.signIn()
            let session = try await fixture.vault.storage.storeRefreshToken(token, with: .desktop(keyring))
            let error = await failure { try await session.setPIN(SecretBytes(utf8: "8264")) }
            #expect(error?.code == .secretRequired)
        }
    }

    @Test func `when the keyring is locked or gone, then codes differ`() async throws {
        try await session.addDesktop(keyring)
        await test.auth.lock()
        func code() async -> VaultError.Code? {
            await failure { try await test.auth.login(alice, with: .desktop(keyring)) }?.code
        }
        keyring.isLocked = true
        keyring.answer = .closes
        #expect(await code() == .hardwareLocked)
        keyring.isLocked = false
        try keyring.addOtherSecrets(keepsOld: false)
        #expect(await code() == .hardwareReplaced)
        keyring.deleteAllSecrets()
        #expect(await code() == .hardwareMissing)
        #expect(try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password))).isOpen)
    }

    @Test func `when the policy forbids the keyring, then adding fails`() async throws {
        let strict = TestVault(policy: VaultPolicy(forbiddenUnlockMethods: [.desktop]))
        let bob = try await strict.addAccount("bob", password: Self.password)
        let session = try await strict.auth.login(bob, with: .password(SecretBytes(utf8: Self.password)))
        let error = await failure { try await session.addDesktop(keyring) }
        #expect(error?.code == .forbiddenByPolicy)
        #expect(error?.description == "The policy forbids this unlock method: desktop.")
        #expect(error?.policyObjection?.rule == .forbiddenUnlockMethods)
        #expect(error?.policyObjection?.refused == "desktop" && error?.policyObjection?.allowed == [])
        #expect(keyring.count == 0)
        try await session.setPIN(SecretBytes(utf8: "8264"))
    }

    @Test func `when the policy forbids the keyring later, then opening fails`() async throws {
        try await withFixture { first in
            let session = try await first.register()
            try await session.addDesktop(keyring)
            let fixture = try await first.under(VaultPolicy(forbiddenUnlockMethods: [.desktop]))
            let calls = fixture.keyService.calls
            let error = await failure { _ = try await fixture.login(with: .desktop(keyring)) }
            #expect(error?.code == .forbiddenByPolicy)
            #expect(fixture.keyService.calls == calls)
            try await fixture.login()
            #expect(try await first.login(with: .desktop(keyring)).isOpen)
        }
    }
}
