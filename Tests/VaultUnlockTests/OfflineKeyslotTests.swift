import TestSupport
import Testing
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// The password without the key service.
@Suite struct OfflineKeyslotTests {
    private let password = "tea at half past four"

    @Test func `when an offline keyslot opens, then no service is asked`() async throws {
        let fixture = try KeyslotFixture()
        fixture.keyService.isReachable = false
        let slot = try await fixture.makeOffline(password)
        #expect(slot.kind == .offline && !slot.needsKeyService)
        #expect(try await fixture.openOffline(slot, password)?.isEqual(to: fixture.vaultKey) == true)
        #expect(try await fixture.openOffline(slot, "another one") == nil)
        #expect(fixture.keyService.calls == 0)
    }

    @Test func `when an offline keyslot is altered, then opening fails`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.makeOffline(password)
        let other = try await fixture.makeOffline(password)
        let online = try await fixture.make(.password, password)
        let changed = [
            slot.changed(id: other.id), slot.changed(salt: other.salt), slot.changed(wrapped: other.wrapped),
            slot.changed(argon2: Argon2Parameters(passes: 2, memoryKiB: 64, lanes: 1)),
            online.changed(kind: .offline, keyID: ""),
        ]
        for slot in changed { #expect(try await fixture.openOffline(slot, password) == nil) }
        for account in [Account.example("bob"), .example("alice", issuer: "https://other.example.com")] {
            #expect(try await fixture.openOffline(slot, password, as: account) == nil)
        }
        for slot in [slot.changed(kind: .password), slot.changed(keyID: "key"), online] {
            #expect(await thrown(\StoreError.code) { _ = try await fixture.openOffline(slot, password) } == .corrupt)
        }
        #expect(await thrown(\StoreError.code) { _ = try await fixture.open(slot, password) } == .corrupt)
    }

    @Test func `when Argon2 parameters leave their bounds, then opening fails`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.makeOffline(password)
        let cost = Argon2Parameters.withoutKeyService
        #expect(
            await thrown(\StoreError.code) { _ = try await fixture.openOffline(slot, password, cost: cost) } == .corrupt
        )
        let parameters = [
            Argon2Parameters(passes: 1, memoryKiB: 256 * 1024, lanes: 4), .init(passes: 4, memoryKiB: 1024, lanes: 4),
            .init(passes: 17, memoryKiB: 256 * 1024, lanes: 4), .init(passes: 4, memoryKiB: 1 << 30, lanes: 4),
            .init(passes: 4, memoryKiB: 256 * 1024, lanes: 0),
        ]
        for parameters in parameters {
            let slot = slot.changed(argon2: parameters)
            #expect(
                await thrown(\StoreError.code) { _ = try await fixture.openOffline(slot, password, cost: cost) }
                    == .corrupt)
        }
    }
}
