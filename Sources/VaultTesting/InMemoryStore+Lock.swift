internal import VaultLocks
public import VaultStorage

extension InMemoryStore {
    /// The locks that are held, by account.
    struct Locks {
        struct Held {
            /// Tells it from the account's locks before and after it.
            let number: Int
            /// Whether it is held although the closure that it was given to has returned.
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

    /// Waits for its turn, however long that takes. When the lock is kept, there is no turn to wait for: it throws `busy`
    /// at once.
    public func withLock<R: Sendable>(
        on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        let (number, result) = try await run(body, on: id)
        // By now the lock has ended, unless `body` kept it.
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
        // Only now: the one who hands the lock on must not be keeping it.
        return (AccountLock { [self] in release(id) }, number)
    }

    /// Gives the lock to the one who waits longest.
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
        StoreError(.busy, "Another program keeps this account to itself. Try again.")
    }
}
