import KeyServiceAPI
import KeyServiceTestSupport
import Testing
import VaultBase
import VaultCrypto

@testable import KeyServiceCore

/// Every order of wrong guesses, right guesses of both kinds of clients, and crashes of the service, up to a length.
@Suite(.timeLimit(.minutes(2))) struct GuessOrderTests {
    enum Step: CaseIterable {
        case wrong, right, renewing, long, crash
    }

    /// The events so far.
    private struct Seen {
        /// Wrong guesses that were evaluated: in all, and since a right guess reset the count.
        var inAll = 0
        var inARow = 0
        /// Crashes that may have left a charge behind.
        var leftovers = 0
        /// Whether only crashes came after a right answer.
        var mustSucceed = false
    }

    private static let limits = GuessLimits(inARow: 2, inAll: 3)

    @Test func `when steps come in any order, then both limits hold`() async throws {
        let masterKey = try MasterKey.random()
        var count = 0
        for length in 1...5 {
            for number in 0..<Self.power(Step.allCases.count, length) {
                try await explore(Self.steps(number, length), masterKey)
                count += 1
            }
        }
        #expect(count == 3905)
    }

    private func explore(_ steps: [Step], _ masterKey: MasterKey) async throws {
        let store = InMemoryKeyRecordStore(limits: Self.limits)
        var connection = CrashingStore(store)
        let clock = Lock<Int64>(0)
        let now = { @Sendable in clock.withLock { $0 } }
        var keeper = try Self.keeper(connection, masterKey, now)
        let made = try await keeper.createKey(secret: strongSecret, deadline: .now + .seconds(60))
        var seen = Seen()
        for step in steps {
            if step == .crash {
                // Data that was not durable is lost with the process.
                connection.crash()
                connection = CrashingStore(store)
                keeper = try Self.keeper(connection, masterKey, now)
                // Until then, a guess of the old process might be right.
                clock.withLock { $0 += StoredKey.evaluationTime + 1 }
                seen.leftovers += 1
                continue
            }
            let guess: KeyKeeper.Guess =
                switch step {
                case .wrong: .secret(otherStrongSecret, renews: false)
                case .long: .longSecret(made.longsecret)
                default: .secret(strongSecret, renews: step == .renewing)
                }
            do {
                let answer = try await keeper.releaseKey(
                    keyID: made.keyid, for: guess, deadline: .now + .seconds(60))
                let told = answer.wrongGuesses ?? 0
                #expect((seen.inARow...seen.inARow + seen.leftovers).contains(told), "\(steps)")
                if step != .renewing { (seen.inARow, seen.leftovers) = (0, 0) }
                seen.mustSucceed = true
            } catch let error as KeyServiceServerError where error.code == .wrongSecret {
                #expect(step == .wrong, "\(steps)")
                seen.inARow += 1
                seen.inAll += 1
                seen.mustSucceed = false
            } catch let error as KeyServiceServerError where error.code == .keyLocked {
                #expect(!seen.mustSucceed || step == .wrong, "\(steps)")
                let charges = (seen.inARow + seen.leftovers, seen.inAll + steps.count { $0 == .crash })
                #expect(charges.0 >= Self.limits.inARow || charges.1 >= Self.limits.inAll, "\(steps)")
            }
            #expect(seen.inARow <= Self.limits.inARow && seen.inAll <= Self.limits.inAll, "\(steps)")
        }
    }

    private static func keeper(
        _ store: CrashingStore, _ masterKey: MasterKey, _ now: @escaping @Sendable () -> Int64
    ) throws -> KeyKeeper {
        KeyKeeper(
            masterKeys: MasterKeys(masterKey), commits: GroupCommit(store: store),
            stretching: StretchingPool(threads: 1, maxRequests: 1), argon2: .insecureForTests, now: now)
    }

    private static func power(_ base: Int, _ exponent: Int) -> Int {
        (0..<exponent).reduce(1) { value, _ in value * base }
    }

    private static func steps(_ number: Int, _ length: Int) -> [Step] {
        (0..<length).map { Step.allCases[number / power(Step.allCases.count, $0) % Step.allCases.count] }
    }

    /// A process's connection to the store, which ends with the process.
    private final class CrashingStore: KeyRecordStore {
        private let store: InMemoryKeyRecordStore
        private let isCrashed = Lock(false)

        init(_ store: InMemoryKeyRecordStore) { self.store = store }

        func crash() { isCrashed.withLock { $0 = true } }

        func commit(
            _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
        ) async -> [Result<Void, any Error>] {
            guard !isCrashed.withLock({ $0 }) else {
                return updates.map { _ in .failure(KeyServiceServerError.busy) }
            }
            return await store.commit(updates, lane: lane, deadline: deadline)
        }

        func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
            try await store.checkIn(checkIn, deadline: deadline)
        }
    }
}
