import KeyServiceClient
import TestSupport
import Testing
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting

/// Password, PIN and recovery code: each with a separate key at the key service.
@Suite struct SecretKeyslotTests {
    private static let secrets: [(kind: Keyslot.Kind, secret: String)] = [
        (.password, "tea at half past four"), (.pin, "8068"),
        (.recovery, "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXDY"),
    ]

    @Test(arguments: secrets)
    func `when a keyslot's secret is right, then one request suffices`(
        kind: Keyslot.Kind, secret: String
    ) async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.make(kind, secret)
        #expect(slot.kind == kind && slot.needsKeyService && slot.createdAt == fixture.now)
        #expect(fixture.keyService.calls == 1)
        #expect(try await fixture.open(slot, secret).isEqual(to: fixture.vaultKey))
        #expect(fixture.keyService.calls == 2)
    }

    @Test(arguments: secrets)
    func `when three secrets are wrong, then only that key locks`(kind: Keyslot.Kind, secret: String) async throws {
        let fixture = try KeyslotFixture()
        var slots: [(slot: Keyslot, secret: String)] = []
        for (kind, secret) in Self.secrets { slots.append((try await fixture.make(kind, secret), secret)) }
        let slot = try #require(slots.first { $0.slot.kind == kind }).slot
        // Another valid code for the recovery code: a misspelt one costs nothing.
        let wrong =
            kind == .recovery ? try newRecoveryCode() : secret + "x"
        for left in [2, 1, 0] {
            let calls = fixture.keyService.calls
            let error = await #expect(throws: KeyServiceError.self) { _ = try await fixture.open(slot, wrong) }
            #expect(error?.code == .wrongSecret && error?.guessesRemaining == left)
            #expect(fixture.keyService.calls == calls + 1)
        }
        for (other, secret) in slots {
            if other.kind == kind {
                #expect(await thrown(\KeyServiceError.code) { _ = try await fixture.open(other, secret) } == .keyLocked)
            } else {
                #expect(try await fixture.open(other, secret).isEqual(to: fixture.vaultKey))
            }
        }
    }

    @Test func `when a recovery code is misspelt, then no guess counts`() async throws {
        let fixture = try KeyslotFixture()
        let code = try newRecoveryCode()
        let slot = try await fixture.make(.recovery, code)
        let calls = fixture.keyService.calls
        for typed in [String(code.dropLast()), code.replacing("-", with: "u"), ""] {
            let error = await #expect(throws: VaultCryptoError.self) { _ = try await fixture.open(slot, typed) }
            #expect(error?.code == .invalidRecovery)
        }
        #expect(fixture.keyService.calls == calls)
        let typed = " " + code.lowercased().replacing("-", with: " ")
        #expect(try await fixture.open(slot, typed).isEqual(to: fixture.vaultKey))
    }

    /// The same PIN twice. The key service sees different secrets, and neither opens the other's slot.
    @Test func `when any part of a keyslot changes, then opening fails`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.make(.pin, "8068")
        let other = try await fixture.make(.password, "8068")
        #expect(slot.salt != other.salt)
        let changed: [(String, Keyslot)] = [
            ("kind", slot.changed(kind: .password)), ("id", slot.changed(id: other.id)),
            ("wrapped", slot.changed(wrapped: other.wrapped)), ("kind of the other", other.changed(kind: .pin)),
        ]
        for (name, slot) in changed {
            #expect(await thrown(\StoreError.code) { _ = try await fixture.open(slot, "8068") } == .corrupt, "\(name)")
        }
        for slot in [slot.changed(salt: other.salt), slot.changed(keyID: other.keyID)] {
            #expect(await thrown(\KeyServiceError.code) { _ = try await fixture.open(slot, "8068") } == .wrongSecret)
        }
        // With salt, key and wrapped key, the slot equals the other slot, except for its kind and id.
        let calls = fixture.keyService.calls
        for kind in [Keyslot.Kind.offline, .pkcs11, .init(rawValue: "new")] {
            #expect(
                await thrown(\StoreError.code) { _ = try await fixture.open(slot.changed(kind: kind), "8068") }
                    == .corrupt)
        }
        #expect(fixture.keyService.calls == calls)
        #expect(try await fixture.open(slot, "8068").isEqual(to: fixture.vaultKey))
    }

    @Test func `when a keyslot moves to another account, then opening fails`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.make(.pin, "8068")
        // The device secret is the same, because an attacker who moves the slot would also copy it.
        for account in [Account.example("bob"), .example("alice", issuer: "https://other.example.com")] {
            #expect(
                await thrown(\StoreError.code) { _ = try await fixture.open(slot, "8068", as: account) } == .corrupt)
        }
    }

    @Test func `when hardware kinds get typed secrets, then making keyslots fails`() async throws {
        let fixture = try KeyslotFixture()
        for kind in [Keyslot.Kind.pkcs11, .tpm2, .fido2, .desktop] {
            await #expect(throws: VaultCryptoError.self) { _ = try await fixture.make(kind, "8068") }
        }
        #expect(fixture.keyService.calls == 0)
    }

    @Test func `when the Argon2 cost is low, then no request leaves`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.make(.pin, "8068")
        let calls = fixture.keyService.calls
        let code = await thrown(\StoreError.code) {
            _ = try await fixture.open(slot, "8068", cost: .standard)
        }
        #expect(code == .corrupt)
        #expect(fixture.keyService.calls == calls)
    }

    /// A thief of the disk cannot test a PIN, because the key service's part is missing.
    @Test func `when the key service is missing, then no keyslot opens`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.make(.pin, "8068")
        fixture.keyService.isReachable = false
        #expect(await thrown(\KeyServiceError.code) { _ = try await fixture.open(slot, "8068") } == .unavailable)
        let offline = slot.changed(kind: .offline, keyID: "")
        #expect(try await fixture.openOffline(offline, "8068") == nil)
        fixture.keyService.isReachable = true
        fixture.keyService.deleteAllKeys()
        #expect(await thrown(\KeyServiceError.code) { _ = try await fixture.open(slot, "8068") } == .noSuchKey)
    }
}
