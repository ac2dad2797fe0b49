import Foundation
import KeyService
import Testing
import VaultCrypto
import VaultLocks
import VaultTesting

@testable import VaultStorage

/// Somebody who recorded the requests of logins sends them again.
struct ObliviousReplayTests {
    private func requestKey(_ bench: ObliviousBench) async throws -> SharedSecret {
        let account = try await bench.account()
        return SharedSecret(
            try ObliviousKeys.requestKey(
                from: SecretBytes(copying: account.deviceSecret), id: try await bench.slot().keyID))
    }

    /// Sends all recorded evaluations again, the newest first.
    ///
    /// - Returns: the number of tries that they opened.
    private func replay(to bench: ObliviousBench) async throws -> Int {
        let key = try await bench.slot().keyID
        let requestKey = try await requestKey(bench)
        var opened: Set<[UInt8]> = []
        for case .evaluate(key, let blinded) in bench.service.calls.reversed() where !opened.contains(blinded) {
            let answer = try? await bench.service.evaluate(
                key, RistrettoElement(blinded), requestKey: requestKey.bytes, at: bench.clock.now)
            if answer != nil { opened.insert(blinded) }
        }
        return opened.count
    }

    @Test(arguments: [1, 3, 40])
    func `replayed logins lock nobody out, and raise no alarm`(logins: Int) async throws {
        let bench = ObliviousBench()
        try await bench.register()
        let key = try await bench.slot().keyID
        for _ in 0..<logins { try await bench.login() }
        #expect(bench.service.openTries(of: key) == 0)
        let opened = try await replay(to: bench)
        #expect(opened == min(3, logins) && bench.service.openTries(of: key) == opened)
        bench.clock.advance(by: 120)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openTries(of: key) == 0)
        #expect(try await bench.slot().keyID == key, "the keyslot is the same")
    }

    @Test func `replayed wrong tries stay counted`() async throws {
        let bench = ObliviousBench()
        try await bench.register()
        for _ in 0..<3 { #expect(await bench.failure("a slip") == .wrongSecret) }
        #expect(try await replay(to: bench) == 3, "open tries are answered again")
        bench.clock.advance(by: 120)
        #expect(await bench.failure() == .keyLocked)
    }

    @Test func `a replay on a new key before its first login locks nobody out`() async throws {
        let element = FirstElement()
        let bench = ObliviousBench { base in RecordingService(base: base, element: element) }
        try await bench.register()
        let slot = try await bench.slot()
        let requestKey = try await requestKey(bench)
        let first = try #require(element.value.withLock { $0 })
        _ = try await bench.service.evaluate(slot.keyID, first, requestKey: requestKey.bytes, at: bench.clock.now)
        bench.clock.advance(by: 120)
        #expect(try await bench.login() == nil)
        #expect(bench.service.openTries(of: slot.keyID) == 0)
    }
}

/// A key service that records the first element of a new key.
private struct RecordingService: WrappedObliviousService {
    let base: any ObliviousKeyService
    let element: FirstElement

    func createKey(_ key: NewObliviousKey) async throws -> FirstEvaluation {
        element.value.withLock { $0 = key.blinded }
        return try await base.createKey(key)
    }
}

private final class FirstElement: Sendable {
    let value = Lock<RistrettoElement?>(nil)
}
