import TestSupport
import Testing
import VaultBiometric
import VaultCrypto
import VaultTesting

/// The keyring of the desktop as a provider, with a keyring in memory.
@Suite struct DesktopProviderTests {
    private let keyring = InMemoryDesktopKeyring()
    private let prompt = ScriptedPrompt()
    private let secret = TestSecret()

    private var provider: DesktopProvider { DesktopProvider(keyring) }

    private func protect() async throws -> ProtectedSecret { try await provider.protected(secret, by: prompt) }

    @Test func `when a secret is protected, then it opens without questions`() async throws {
        let protected = try await protect()
        #expect(protected.label == "desktop keyring")
        #expect(keyring.count == 1)
        #expect(try await provider.opened(protected, by: prompt) == secret.bytes)
        #expect(prompt.requests.isEmpty && prompt.instructions.isEmpty && keyring.questions == 0)
        #expect(await provider.availability(of: protected) == .available)
        // The keyring has neither the secret nor what opens it alone.
        let another = try await protect()
        #expect(another.bytes != protected.bytes && keyring.count == 2)
    }

    @Test func `when the keyring is locked, then a message says so`() async throws {
        let protected = try await protect()
        keyring.isLocked = true
        #expect(await provider.availability(of: protected) == .lockedOut(for: nil))
        #expect(keyring.questions == 0)
        #expect(try await provider.opened(protected, by: prompt) == secret.bytes)
        #expect(keyring.questions == 1)
        #expect(prompt.instructions == ["The desktop keyring is locked. Unlock it in its window."])
        keyring.isLocked = true
        keyring.answer = .closes
        #expect(try await provider.failure(protected, by: prompt).code == .lockedOut)
        #expect(try await provider.refusal(secret, by: prompt).code == .lockedOut)
        #expect(keyring.count == 1)
    }

    @Test func `when the keyring loses the secret, then opening fails`() async throws {
        let protected = try await protect()
        keyring.deleteAllSecrets()
        #expect(await provider.availability(of: protected) == .missing)
        #expect(try await provider.failure(protected).code == .hardwareMissing)
        keyring.isThere = false
        #expect(await provider.availability(of: nil) == .missing)
        #expect(try await provider.failure(protected).code == .hardwareMissing)
        #expect(try await provider.refusal(secret).code == .hardwareMissing)
    }

    @Test func `when there are several secrets, then the right one opens`() async throws {
        let protected = try await protect()
        try keyring.addOtherSecrets()
        #expect(try await provider.opened(protected) == secret.bytes)
        try keyring.addOtherSecrets(keepsOld: false)
        #expect(try await provider.failure(protected).code == .hardwareReplaced)
    }

    @Test func `when a secret is forgotten, then the keyring is empty`() async throws {
        let protected = try await protect()
        keyring.isLocked = true
        await provider.forget(protected)
        #expect(keyring.count == 1 && keyring.questions == 0, "nobody is asked for that")
        keyring.isLocked = false
        await provider.forget(ProtectedSecret(bytes: [1, 2, 3], label: "damaged"))
        #expect(keyring.count == 1)
        await provider.forget(protected)
        #expect(keyring.count == 0)
    }

    @Test func `when any stored bit changes, then the secret is damaged`() async throws {
        let protected = try await protect()
        for bit in 0..<protected.bytes.count * 8 {
            var bytes = protected.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            let changed = ProtectedSecret(bytes: bytes, label: protected.label)
            #expect(try await provider.failure(changed).code == .failed, "bit \(bit)")
        }
        let cut = ProtectedSecret(bytes: Array(protected.bytes.dropLast()), label: protected.label)
        #expect(try await provider.failure(cut).code == .failed)
        guard case .unusable = await provider.availability(of: cut) else {
            Issue.record("damaged bytes cannot be used")
            return
        }
    }

    @Test func `when the caller gives up, then the question ends`() async throws {
        let protected = try await protect()
        keyring.isLocked = true
        keyring.hang()
        let opening = Task { try await provider.opened(protected) }
        await keyring.waitUntilHanging()
        opening.cancel()
        await #expect(throws: BiometricError.self) { _ = try await opening.value }
        keyring.resume()
        #expect(try await provider.opened(protected) == secret.bytes)
    }

    @Test func `when a thief guesses, then the keyring limits no guesses`() async throws {
        guard case .absent = try await provider.guessLimit() else {
            Issue.record("The password of the desktop can be guessed without limit.")
            return
        }
        #expect(!provider.limitsGuesses)
    }
}
