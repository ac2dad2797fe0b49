internal import VaultBase
public import VaultStorage

extension InMemoryStore {
    /// The held locks, by account.
    struct Locks {
        struct Held {
            /// The number that tells it from the account's other locks.
            let number: Int
            /// Whether it stays held after its closure has returned.
            var isKept = false
            var waiters: [CheckedContinuation<Int, any Error>] = []
        }

        var held: [AccountID: Held] = [:]
        var count = 0

        mutating func take(_ id: AccountID, waiters: [CheckedContinuation<Int, any Error>]) -> Int {
            count += 1
            held[id] = Held(number: count, waiters: waiters)
            return count
        }
    }

    /// Waits for its turn without a time limit. If the lock is kept, it throws `busy` at once.
    public func withLock<R: Sendable>(
        on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        let (number, result) = try await run(body, on: id)
        // The lock has ended now, unless `body` kept it.
        let waiters = locks.withLock { locks in
            guard locks.held[id]?.number == number else { return [CheckedContinuation<Int, any Error>]() }
            locks.held[id]?.isKept = true
            defer { locks.held[id]?.waiters = [] }
            return locks.held[id]?.waiters ?? []
        }
        for waiter in waiters { waiter.resume(throwing: Self.busy) }
        return try result.get()
    }

    private func run<R: Sendable>(
        _ body: @Sendable (AccountLock) async throws -> R, on id: AccountID
    ) async throws -> (number: Int, result: Result<R, any Error>) {
        try holders.requireFree(id)
        let taken = try await take(id)
        do {
            return (taken.number, .success(try await holders.hold(id) { try await body(taken.lock) }))
        } catch {
            return (taken.number, .failure(error))
        }
    }

    private func take(_ id: AccountID) async throws -> (lock: AccountLock, number: Int) {
        let number = try await withCheckedThrowingContinuation { waiter in
            let answer: Result<Int, any Error>? = locks.withLock { locks in
                switch locks.held[id]?.isKept {
                case nil: return .success(locks.take(id, waiters: []))
                case true?: return .failure(Self.busy)
                case false?:
                    locks.held[id]?.waiters.append(waiter)
                    return nil
                }
            }
            if let answer { waiter.resume(with: answer) }
        }
        // The account lock is made last, as the task that passes the lock on must not hold a reference to it.
        return (AccountLock { [self] in release(id) }, number)
    }

    /// Gives the lock to the task that waits longest.
    private func release(_ id: AccountID) {
        let next = locks.withLock { locks -> (waiter: CheckedContinuation<Int, any Error>, number: Int)? in
            guard var waiters = locks.held[id]?.waiters, !waiters.isEmpty else {
                locks.held[id] = nil
                return nil
            }
            let waiter = waiters.removeFirst()
            return (waiter, locks.take(id, waiters: waiters))
        }
        if let next { next.waiter.resume(returning: next.number) }
    }

    private static var busy: StoreError {
        StoreError(.busy, "Another program uses this account. Try again.")
    }
}
