import TestSupport
import Testing
import VaultBiometric
import VaultCrypto
import VaultTesting

/// The token for apps' tests must fail as real tokens do.
@Suite struct ScriptedHardwareKeyTests {
    private let token: ScriptedHardwareKey
    private let right = ScriptedPrompt("2846")
    private let wrong = ScriptedPrompt("0000")

    init() throws {
        token = try ScriptedHardwareKey(label: "YubiKey", pin: "2846")
    }

    private func reveal(_ protected: ProtectedSecret) async throws -> String? {
        try await token.unprotect(protected, prompt: right).utf8String()
    }

    private func protect() async throws -> ProtectedSecret {
        try await token.protect(SecretBytes(utf8: "a secret"), prompt: ScriptedPrompt("2846"))
    }

    @Test func `when the PIN is right, then the token reveals secrets`() async throws {
        let protected = try await protect()
        #expect(protected.label == "YubiKey")
        #expect(!protected.bytes.contains(Array("a secret".utf8)))
        #expect(try await reveal(protected) == "a secret")
        #expect(
            await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: wrong) } == .wrongPIN)
        #expect(
            await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: ScriptedPrompt(nil)) }
                == .cancelled)
        #expect(
            await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: ScriptedPrompt()) }
                == .cancelled)
        #expect(token.calls == .init(availability: 0, protect: 1, unprotect: 4))
        #expect(right.requests == [PINRequest(label: "YubiKey", guessesLeft: 3)])
    }

    @Test func `when three PINs are wrong, then the token locks`() async throws {
        let protected = try await protect()
        let errors = [2, 1]
        for left in errors {
            let error = await #expect(throws: BiometricError.self) {
                _ = try await token.unprotect(protected, prompt: wrong)
            }
            #expect(error?.code == .wrongPIN && error?.guessesLeft == left)
        }
        #expect(wrong.requests.last == PINRequest(label: "YubiKey", guessesLeft: 2, isLow: true))
        _ = try await token.unprotect(protected, prompt: right)
        #expect(right.requests == [PINRequest(label: "YubiKey", guessesLeft: 1, isLow: true, isFinal: true)])
        token.lockoutEndsAfter = .seconds(10)
        for expected in [BiometricError.Code.wrongPIN, .wrongPIN, .lockedOut, .lockedOut] {
            #expect(
                await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: wrong) }
                    == expected)
        }
        #expect(await token.availability(of: protected) == .lockedOut(for: .seconds(10)))
        let error = await #expect(throws: BiometricError.self) {
            _ = try await token.unprotect(protected, prompt: right)
        }
        #expect(error?.code == .lockedOut && error?.endsAfter == .seconds(10))
        // A locked token asks for nothing.
        #expect(right.requests.count == 1)
        token.guessesLeft = 3
        _ = try await token.unprotect(protected, prompt: right)
    }

    @Test func `when a token is pulled, then unprotecting reports it missing`() async throws {
        let protected = try await protect()
        token.isPluggedIn = false
        #expect(await token.availability(of: protected) == .missing)
        #expect(await token.availability(of: nil) == .missing)
        #expect(
            await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: right) }
                == .hardwareMissing)
        #expect(right.requests.isEmpty)
        token.isPluggedIn = true
        #expect(await token.availability(of: protected) == .available)
        right.whenAsked = { [token] _ in token.isPluggedIn = false }
        #expect(
            await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: right) }
                == .hardwareMissing)
        #expect(token.guessesLeft == 3)
    }

    @Test func `when a token is replaced, then no PIN is asked`() async throws {
        let protected = try await protect()
        token.isReplaced = true
        #expect(await token.availability(of: protected) == .missing)
        #expect(await token.availability(of: nil) == .available)
        #expect(
            await thrown(\BiometricError.code) { _ = try await token.unprotect(protected, prompt: right) }
                == .hardwareReplaced)
        #expect(right.requests.isEmpty)
        token.isReplaced = false
        _ = try await token.unprotect(protected, prompt: right)
    }

    @Test func `when a protected secret is damaged, then unprotecting fails`() async throws {
        let protected = try await protect()
        for bytes in [[], [1], Array(protected.bytes.dropLast()), [2] + protected.bytes.dropFirst()] as [[UInt8]] {
            let damaged = ProtectedSecret(bytes: bytes, label: "YubiKey")
            #expect(
                await thrown(\BiometricError.code) { _ = try await token.unprotect(damaged, prompt: right) } == .failed)
        }
    }

    @Test func `when a token is unusable, then protecting is unavailable`() async throws {
        token.unusableReason = "p11-kit is not installed."
        #expect(await token.availability(of: nil) == .unusable("p11-kit is not installed."))
        #expect(await thrown(\BiometricError.code) { _ = try await protect() } == .unavailable)
        let touched = try ScriptedHardwareKey(kind: "fido2", pin: "2846", needsTouch: true)
        _ = try await touched.protect(SecretBytes.random(count: 32), prompt: right)
        #expect(right.instructions == ["Touch the token."])
    }

    @Test func `when a hanging token is released, then its caller continues`() async throws {
        let protected = try await protect()
        token.hang()
        let caller = Task { try await token.unprotect(protected, prompt: right).count }
        await token.waitUntilHanging()
        #expect(right.requests.isEmpty)
        token.resume()
        #expect(try await caller.value == 8)
        token.hang()
        let impatient = Task { try await token.unprotect(protected, prompt: right).count }
        await token.waitUntilHanging()
        impatient.cancel()
        #expect(await thrown(\BiometricError.code) { _ = try await impatient.value } == .cancelled)
    }
}
