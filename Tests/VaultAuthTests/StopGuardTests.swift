import CredentialVault
import Foundation
import TestSupport
import Testing
import VaultDevelopment
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// The moment when a program that is asked to stop may stop.
@Suite struct StopGuardTests {
    @Test func `when a renewed token is not stored, then stopping waits`() async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            let session = try await fixture.register()
            let stopGuard = try fixture.vault.accounts.stopGuard
            let stops = Counter()
            await fixture.provider.setFault(.delayAnswer, times: 1)
            let caller = Task { try await session.accessToken(forceRefresh: true) }
            await fixture.provider.waitUntilDelayed()
            stopGuard.whenIdle { stops.increment() }
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await fixture.provider.releaseDelayed()
            #expect(await failure { _ = try await caller.value }?.code == .storeUnreadable)
            #expect(stopGuard.isActive && !stopGuard.close() && stops.value == 0)
            #expect(await failure { _ = try await session.accessToken() }?.code == .storeUnreadable)
            #expect(stopGuard.isActive && !stopGuard.close() && stops.value == 0)
            store.writeFailure = nil
            _ = try await session.accessToken()
            #expect(!stopGuard.isActive && stops.value == 1)
        }
    }

    @Test func `when a held token is stored late, then stopping works`() async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            let session = try await fixture.register()
            let stopGuard = try fixture.vault.accounts.stopGuard
            await fixture.provider.setFault(.delayAnswer, times: 1)
            let caller = Task { try await session.accessToken(forceRefresh: true) }
            await fixture.provider.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await fixture.provider.releaseDelayed()
            #expect(await failure { _ = try await caller.value }?.code == .storeUnreadable)
            store.writeFailure = nil
            await fixture.stopProvider()
            #expect(
                await failure { _ = try await session.accessToken(forceRefresh: true) }?.code
                    == .identityProviderUnavailable)
            #expect(!stopGuard.isActive)
        }
    }

    @Test func `when a held token is given up, then stopping works`() {
        let stopGuard = StopGuard()
        do {
            let hold = StopGuard.Hold(stopGuard)
            withExtendedLifetime(hold) { #expect(stopGuard.isActive && !stopGuard.close()) }
        }
        #expect(!stopGuard.isActive && stopGuard.close())
    }

    @Test func `when a guess is under way, then stopping waits`() async throws {
        let stopGuard = StopGuard()
        let stops = Counter()
        try await stopGuard.finishing { _ in
            #expect(stopGuard.isFinishingGuess && !stopGuard.close())
            stopGuard.whenIdle { stops.increment() }
            #expect(stops.value == 0)
        }
        #expect(stops.value == 1 && stopGuard.close())
    }

    @Test func `when stopping is decided, then nothing begins`() async throws {
        let stopGuard = StopGuard()
        let begun = Counter()
        try await stopGuard.run { #expect(!stopGuard.close()) }
        #expect(stopGuard.close())
        await #expect(throws: CancellationError.self) { try await stopGuard.run { begun.increment() } }
        await #expect(throws: CancellationError.self) { try await stopGuard.finishing { _ in begun.increment() } }
        #expect(begun.value == 0 && stopGuard.close())
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a renewal comes after the stop, then nobody waits`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let stopGuard = try fixture.vault.accounts.stopGuard
            #expect(stopGuard.close())
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .cancelled)
            // The account's lock is free for other programs.
            try await fixture.store.withLock(on: session.id) { _ in }
            #expect(session.isOpen && session.refusal == nil)
        }
    }
}
