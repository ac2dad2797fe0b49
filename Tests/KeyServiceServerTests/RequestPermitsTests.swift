import Dispatch
import KeyServiceAPI
import Testing
import VaultCrypto

@testable import KeyServiceCore

@Suite struct RequestPermitsTests {
    @Test func `when all permits are taken, then another request is busy`() async throws {
        let permits = RequestPermits(2, pause: .zero)
        let refused = try await permits.withPermit {
            try await permits.withPermit {
                await #expect(throws: KeyServiceServerError.self) {
                    try await permits.slowingRefusals { try await permits.withPermit { true } }
                }?.code
            }
        }
        #expect(refused == .busy)
        await #expect(throws: CancellationError.self) { try await permits.withPermit { throw CancellationError() } }
        for _ in 1...3 { #expect(try await permits.withPermit { true }) }
    }

    @Test func `when one key's guesses wait, then other keys are released`() async throws {
        let gate = GatedStore()
        let keeper = KeyKeeper(
            masterKeys: MasterKeys(try .random()), commits: GroupCommit(store: gate),
            stretching: StretchingPool(threads: 1, maxRequests: 1), argon2: .insecureForTests, now: { 0 })
        let deadline = ContinuousClock.now + .seconds(60)
        let ids = try await [
            keeper.createKey(secret: strongSecret, deadline: deadline).keyid,
            keeper.createKey(secret: strongSecret, deadline: deadline).keyid,
        ]
        let permits = RequestPermits(2, pause: .zero)
        let guess = KeyKeeper.Guess.secret(strongSecret, renews: false)
        gate.close()
        let answers = try await withThrowingTaskGroup(of: KeyResponse.self) { group in
            for _ in 1...20 {
                group.addTask {
                    try await keeper.releaseKey(keyID: ids[0], for: guess, deadline: deadline, permits: permits)
                }
            }
            for await _ in gate.arrivals { break }
            group.addTask {
                try await keeper.releaseKey(keyID: ids[1], for: guess, deadline: deadline, permits: permits)
            }
            gate.open()
            gate.gate.signal()
            return try await group.reduce(0) { count, _ in count + 1 }
        }
        #expect(answers == 21)
    }
}
