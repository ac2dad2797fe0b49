import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@testable import VaultAuth

/// When a program that is asked to stop may do so. It is about all of a process, so each test has one of its own.
@Suite struct CriticalSectionTests {
    @Test func `stopping waits until a renewed token is stored, however often that fails`() async {
        await #expect(processExitsWith: .success) {
            let store = InMemoryStore()
            try await withBench(store: store) { bench in
                let session = try await bench.register()
                let stops = Counter()
                await bench.provider.setFault(.delayAnswer, times: 1)
                let caller = Task { try await session.accessToken(forceRefresh: true) }
                await bench.provider.waitUntilDelayed()
                CriticalSection.whenIdle { stops.increment() }
                store.writeFailure = StoreError(.unreadable, "The disk is full.")
                await bench.provider.releaseDelayed()
                #expect(await failure { _ = try await caller.value }?.code == .storeUnreadable)
                #expect(CriticalSection.isActive && !CriticalSection.close() && stops.value == 0)
                #expect(await failure { _ = try await session.accessToken() }?.code == .storeUnreadable)
                #expect(CriticalSection.isActive && !CriticalSection.close() && stops.value == 0)
                store.writeFailure = nil
                _ = try await session.accessToken()
                #expect(!CriticalSection.isActive && stops.value == 1)
            }
        }
    }

    @Test func `a token that was stored late holds nobody up when the next renewal fails`() async {
        await #expect(processExitsWith: .success) {
            let store = InMemoryStore()
            try await withBench(store: store) { bench in
                let session = try await bench.register()
                await bench.provider.setFault(.delayAnswer, times: 1)
                let caller = Task { try await session.accessToken(forceRefresh: true) }
                await bench.provider.waitUntilDelayed()
                store.writeFailure = StoreError(.unreadable, "The disk is full.")
                await bench.provider.releaseDelayed()
                #expect(await failure { _ = try await caller.value }?.code == .storeUnreadable)
                store.writeFailure = nil
                await bench.stopProvider()
                #expect(
                    await failure { _ = try await session.accessToken(forceRefresh: true) }?.code
                        == .identityProviderUnavailable)
                #expect(!CriticalSection.isActive)
            }
        }
    }

    @Test func `a token that is given up holds nobody up`() async {
        await #expect(processExitsWith: .success) {
            do {
                let hold = CriticalSection.Hold()
                #expect(CriticalSection.isActive)
                hold.release()
                hold.release()
                #expect(!CriticalSection.isActive)
                _ = CriticalSection.Hold()
            }
            #expect(!CriticalSection.isActive)
        }
    }

    @Test func `nothing begins after the decision to stop`() async {
        await #expect(processExitsWith: .success) {
            await CriticalSection.run { #expect(!CriticalSection.close()) }
            #expect(CriticalSection.close())
            // Runs at once, up to where it has to wait.
            Task.immediate { await CriticalSection.run { () -> Void in exit(EXIT_FAILURE) } }
            #expect(CriticalSection.close())
        }
    }
}
