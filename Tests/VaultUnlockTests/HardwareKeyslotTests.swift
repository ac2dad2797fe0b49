import Foundation
import KeyServiceClient
import TestSupport
import Testing
import VaultBiometric
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// Keyslots that a token opens, with the key service unless the keyslot was made without it.
@Suite struct HardwareKeyslotTests {
    private let fixture: KeyslotFixture
    private let token: ScriptedHardwareKey
    private let pin = "2846"

    init() throws {
        fixture = try KeyslotFixture()
        token = try ScriptedHardwareKey(kind: "pkcs11", label: "YubiKey", pin: "2846")
    }

    @Test func `when the token opens the keyslot, then one call suffices`() async throws {
        let slot = try await fixture.make(token, pin: pin)
        #expect(slot.kind == .pkcs11 && slot.needsKeyService && slot.label == "YubiKey")
        #expect(fixture.keyService.calls == 1)
        #expect(try await fixture.open(slot, token, pin: pin).isEqual(to: fixture.vaultKey))
        #expect(fixture.keyService.calls == 2)
        #expect(try slot.protectedSecret().label == "YubiKey")
        #expect(try await token.availability(of: slot.protectedSecret()) == .available)
        // The person may change the name.
        var renamed = slot
        renamed.label = "the blue one"
        #expect(try await fixture.open(renamed, token, pin: pin).isEqual(to: fixture.vaultKey))
    }

    // Row: hardware
    @Test func `when PINs are wrong, then only the token counts them`() async throws {
        let slot = try await fixture.make(token, pin: pin)
        for expected in [BiometricError.Code.wrongPIN, .wrongPIN, .lockedOut, .lockedOut] {
            #expect(
                await thrown(\BiometricError.code) { _ = try await fixture.open(slot, token, pin: "0000") } == expected)
        }
        token.guessesLeft = 3
        token.isReplaced = true
        #expect(
            await thrown(\BiometricError.code) { _ = try await fixture.open(slot, token, pin: pin) }
                == .hardwareReplaced)
        token.isReplaced = false
        token.isPluggedIn = false
        #expect(
            await thrown(\BiometricError.code) { _ = try await fixture.open(slot, token, pin: pin) } == .hardwareMissing
        )
        #expect(fixture.keyService.calls == 1)
    }

    // Row: hardware
    @Test func `when a service key is locked, then hardware opens nothing`() async throws {
        let slot = try await fixture.make(token, pin: pin)
        fixture.keyService.isReachable = false
        #expect(
            await thrown(\KeyServiceError.code) { _ = try await fixture.open(slot, token, pin: pin) } == .unavailable)
        fixture.keyService.isReachable = true
        for _ in 0..<3 {
            let guess = try SecretBytes(utf8: "a guess")
            _ = try? await fixture.keyService.releaseKey(id: slot.keyID, secret: guess, kind: .secret)
        }
        #expect(await thrown(\KeyServiceError.code) { _ = try await fixture.open(slot, token, pin: pin) } == .keyLocked)
        fixture.keyService.deleteAllKeys()
        #expect(await thrown(\KeyServiceError.code) { _ = try await fixture.open(slot, token, pin: pin) } == .noSuchKey)
        // A claim that the service is not needed does not help either.
        let stripped = slot.changed(keyID: "", protection: try without("longSecret", slot.protection))
        #expect(await thrown(\StoreError.code) { _ = try await fixture.open(stripped, token, pin: pin) } == .corrupt)
    }

    // Row: hardware that opens without the key service
    @Test func `when hardware limits guesses, then no key service is needed`() async throws {
        fixture.keyService.isReachable = false
        let slot = try await fixture.make(token, pin: pin, needsKeyService: false)
        #expect(!slot.needsKeyService)
        #expect(try await fixture.open(slot, token, pin: pin).isEqual(to: fixture.vaultKey))
        #expect(
            await thrown(\BiometricError.code) { _ = try await fixture.open(slot, token, pin: "0000") } == .wrongPIN)
        #expect(fixture.keyService.calls == 0)
        let unlimited = try ScriptedHardwareKey(kind: "pkcs11", pin: pin, limitsGuesses: false)
        let resettable = Renamed(kind: "tpm2", base: token, limit: .weak("Set a password."))
        #expect(
            await thrown(\BiometricError.code) {
                _ = try await fixture.make(unlimited, pin: pin, needsKeyService: false)
            }
                == .unavailable)
        #expect(
            await thrown(\BiometricError.code) {
                _ = try await fixture.make(resettable, pin: pin, needsKeyService: false)
            }
                == .unavailable)
        fixture.keyService.isReachable = true
        _ = try await fixture.make(unlimited, pin: pin)
        _ = try await fixture.make(resettable, pin: pin)
    }

    @Test(arguments: [true, false])
    func `when a protection bit changes, then the keyslot stays shut`(needsKeyService: Bool) async throws {
        let slot = try await fixture.make(token, pin: pin, needsKeyService: needsKeyService)
        for bit in 0..<slot.protection.count * 8 {
            var protection = slot.protection
            protection[bit / 8] ^= 1 << (bit % 8)
            do {
                _ = try await fixture.open(slot.changed(protection: protection), token, pin: pin)
                Issue.record("It opened with bit \(bit) changed.")
            } catch {
                let isDamage = (error as? StoreError)?.code == .corrupt
                let code = (error as? BiometricError)?.code
                #expect(isDamage || code == .failed || code == .hardwareReplaced, "bit \(bit): \(error)")
            }
        }
        #expect(try await fixture.open(slot, token, pin: pin).isEqual(to: fixture.vaultKey))
    }

    @Test func `when the stored label changes, then opening reports damage`() async throws {
        let slot = try await fixture.make(token, pin: pin)
        let text = String(decoding: slot.protection, as: UTF8.self)
        let changed = slot.changed(protection: Array(text.replacing("YubiKey", with: "ZubiKey").utf8))
        #expect(changed.protection != slot.protection)
        #expect(await thrown(\StoreError.code) { _ = try await fixture.open(changed, token, pin: pin) } == .corrupt)
    }

    @Test(arguments: [true, false])
    func `when a keyslot part is replaced, then opening fails`(needsKeyService: Bool) async throws {
        let slot = try await fixture.make(token, pin: pin, needsKeyService: needsKeyService)
        let other = try await fixture.make(token, pin: pin, needsKeyService: needsKeyService)
        var changed = [
            slot.changed(id: other.id), slot.changed(wrapped: other.wrapped),
            slot.changed(protection: other.protection), slot.changed(protection: []),
            slot.changed(keyID: needsKeyService ? other.keyID : "key"),
        ]
        if needsKeyService { changed.append(slot.changed(keyID: "")) }
        for slot in changed {
            #expect(await thrown(\StoreError.code) { _ = try await fixture.open(slot, token, pin: pin) } == .corrupt)
        }
        for account in [Account.example("bob"), .example("alice", issuer: "https://other.example.com")] {
            #expect(
                await thrown(\StoreError.code) { _ = try await fixture.open(slot, token, pin: pin, as: account) }
                    == .corrupt)
        }
        #expect(
            await thrown(\BiometricError.code) {
                _ = try await fixture.open(slot.changed(kind: .tpm2), token, pin: pin)
            }
                == .notEnrolled
        )
        let renamed = Renamed(kind: "tpm2", base: token)
        #expect(
            await thrown(\StoreError.code) { _ = try await fixture.open(slot.changed(kind: .tpm2), renamed, pin: pin) }
                == .corrupt)
    }

    @Test func `when hardware claims a typed kind, then enrolling fails`() async throws {
        for kind in ["password", "pin", "recovery", "offline"] {
            let token = try ScriptedHardwareKey(kind: kind, pin: pin)
            #expect(await thrown(\BiometricError.code) { _ = try await fixture.make(token, pin: pin) } == .failed)
        }
        #expect(fixture.keyService.calls == 0)
    }

    private func without(_ name: String, _ protection: [UInt8]) throws -> [UInt8] {
        var object = try #require(try JSONSerialization.jsonObject(with: Data(protection)) as? [String: Any])
        object[name] = nil
        return Array(try JSONSerialization.data(withJSONObject: object))
    }
}

/// The same hardware, named as another kind.
private struct Renamed: BiometricProvider {
    let kind: String
    let base: ScriptedHardwareKey
    var limit = GuessLimit.firm
    var limitsGuesses: Bool { base.limitsGuesses }

    func guessLimit() async throws -> GuessLimit { limit }

    func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
        await base.availability(of: protected)
    }

    func protect(_ secret: borrowing SecretBytes, prompt: any BiometricPrompt) async throws -> ProtectedSecret {
        try await base.protect(secret, prompt: prompt)
    }

    func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes {
        try await base.unprotect(protected, prompt: prompt)
    }
}
