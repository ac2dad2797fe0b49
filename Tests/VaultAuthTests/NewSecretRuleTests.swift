import CredentialVault
import Foundation
import Testing
import VaultTesting

/// The library's own rules for new secrets and for hardware, in an app that checks nothing itself.
@Suite struct NewSecretRuleTests {
    private static let password = "tea at half past four"
    private static let easy = "password123"
    private let test = TestVault()
    private let alice: AccountID
    private let session: Session

    init() async throws {
        let token = try await test.auth.signIn(test.provider.signIn("alice", email: "juniper@example.com"))
        session = try await test.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: Self.password))
        alice = session.id
    }

    private func method() throws -> UnlockMethod { try .password(SecretBytes(utf8: Self.password)) }

    private func kinds() async throws -> Set<Keyslot.Kind> {
        try await Set(test.storage.keyslotSummaries(of: alice).map(\.kind))
    }

    @Test(arguments: ["1234", "juniper"])
    func `when a new PIN is easy, then it is refused`(pin: String) async throws {
        let calls = test.keyService.calls
        let pin = try SharedSecret(SecretBytes(utf8: pin))
        let errors = [
            await failure { try await session.setPIN(pin.bytes) },
            await failure { try await test.storage.setPIN(pin.bytes, of: alice, with: method()) },
            await failure {
                try await test.storage.enableBiometricAccess(
                    userID: "alice", password: SecretBytes(utf8: Self.password), using: PINProvider(),
                    prompt: ScriptedPrompt(pin.bytes.utf8String()))
            },
        ]
        #expect(errors.allSatisfy { $0?.code == .passwordUnusable })
        #expect(test.keyService.calls == calls)
        #expect(try await kinds() == [.password])
        try await session.setPIN(pin.bytes, skipsPINRule: true)
        #expect(try await kinds() == [.password, .pin])
    }

    @Test(arguments: [easy, "juniper22"])
    func `when a new password is easy, then it is refused`(password: String) async throws {
        let calls = test.keyService.calls
        let password = try SharedSecret(SecretBytes(utf8: password))
        let bob = try await test.auth.signIn(test.provider.signIn("bob", email: "juniper@example.com"))
        let errors = [
            await failure { try await session.setPassword(password.bytes) },
            await failure {
                try await test.storage.changePassword(
                    userID: "alice", from: SecretBytes(utf8: Self.password), to: password.bytes)
            },
            await failure { try await test.storage.storeRefreshToken(bob, withNewPassword: password.bytes) },
        ]
        #expect(errors.allSatisfy { $0?.code == .passwordUnusable })
        #expect(test.keyService.calls == calls)
        // The old password still opens the account, and the refused sign-in can be stored.
        try await test.auth.unlock(alice, with: method())
        let stored = try await test.storage.storeRefreshToken(
            bob, withNewPassword: password.bytes, skipsNewPasswordRule: true)
        try await stored.setPassword(SecretBytes(utf8: "coffee at nine o'clock"))
        try await stored.setPassword(password.bytes, skipsNewPasswordRule: true)
        #expect(try await test.auth.unlock(stored.id, with: .password(password.bytes)).isOpen)
    }

    @Test func `when a backup's secret is easy, then it is refused`() async throws {
        let path = FileManager.default.temporaryDirectory.path() + "backup-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let ways = [alice: try method()]
        let easy = try SharedSecret(SecretBytes(utf8: Self.easy))
        let refused = await failure {
            try await test.storage.exportBackup(of: ways, items: nil, to: path, passphrase: easy.bytes)
        }
        #expect(refused?.code == .passwordUnusable && !FileManager.default.fileExists(atPath: path))
        try await test.storage.exportBackup(
            of: ways, items: nil, to: path, passphrase: easy.bytes, skipsNewPasswordRule: true)
        let machine = TestVault().storage
        let backup = try await machine.openBackup(at: path, passphrase: easy.bytes)
        let error = await failure {
            try await machine.importBackup(backup, account: alice, newPassword: easy.bytes)
        }
        #expect(error?.code == .passwordUnusable)
        #expect(try await machine.all().isEmpty)
        try await machine.importBackup(backup, account: alice, newPassword: easy.bytes, skipsNewPasswordRule: true)
    }

    @Test func `when a TPM's PIN is easy, then it is refused`() async throws {
        let chip = try ScriptedHardwareKey(kind: "tpm2", pin: "1234")
        let refused = await failure { try await session.addHardware(chip, prompt: ScriptedPrompt("1234")) }
        #expect(refused?.code == .passwordUnusable)
        #expect(try await kinds() == [.password])
        try await session.addHardware(chip, prompt: ScriptedPrompt("1234"), skipsPINRule: true)
        // A card has its PIN already.
        try await session.addHardware(ScriptedHardwareKey(pin: "1234"), prompt: ScriptedPrompt("1234"))
        #expect(try await kinds() == [.password, .tpm2, .pkcs11])
    }

    @Test func `when hardware limits no guesses, then it is refused`() async throws {
        let software = try ScriptedHardwareKey(pin: "1234", limitsGuesses: false)
        let password = try SharedSecret(SecretBytes(utf8: Self.password))
        let calls = test.keyService.calls
        let refused = await failure { try await session.addHardware(software, prompt: ScriptedPrompt("1234")) }
        #expect(refused?.code == .guessesUnlimited && refused?.unlockMethod == .pkcs11)
        #expect(refused?.description == "This hardware does not limit guesses.")
        #expect(software.calls.protect == 0 && test.keyService.calls == calls)
        let also = await failure {
            try await test.storage.enableBiometricAccess(
                userID: "alice", password: password.bytes, using: software, prompt: ScriptedPrompt("1234"))
        }
        #expect(also?.code == .guessesUnlimited && software.calls.protect == 0)
        // Without the key service nothing counts guesses, so no app can allow that.
        let offline = await failure {
            try await session.addHardware(
                software, prompt: ScriptedPrompt("1234"), opensOffline: true, allowsUnlimitedGuesses: true)
        }
        #expect(offline?.code == .configurationInvalid)
        #expect(try await kinds() == [.password])
        try await session.addHardware(software, prompt: ScriptedPrompt("1234"), allowsUnlimitedGuesses: true)
        #expect(try await kinds() == [.password, .pkcs11])
    }
}
