internal import VaultLocks
public import VaultStorage

extension InMemoryStore {
    /// The locks that are held, by account.
    struct Locks {
        typealias Taken = (lock: AccountLock, number: Int)

        struct Held {
            /// Tells it from the account's locks before and after it.
            let number: Int
            /// Whether it is held although the closure that it was given to has returned.
            var isKept = false
            var waiters: [CheckedContinuation<Taken, any Error>] = []
        }

        var held: [AccountID: Held] = [:]
        var count = 0
    }

    /// Waits for its turn, however long that takes. When the lock is kept, there is no turn to wait for: it throws `busy`
    /// at once.
    public func withLock<R: Sendable>(
        on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        let (number, result) = try await run(body, on: id)
        // By now the lock has ended, unless `body` kept it.
        let waiters = locks.withLock { locks in
            guard locks.held[id]?.number == number else { return [CheckedContinuation<Locks.Taken, any Error>]() }
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
        let taken = try await take(id)
        do {
            return (taken.number, .success(try await body(taken.lock)))
        } catch {
            return (taken.number, .failure(error))
        }
    }

    private func take(_ id: AccountID) async throws -> Locks.Taken {
        try await withCheckedThrowingContinuation { waiter in
            let answer: Result<Locks.Taken, any Error>? = locks.withLock { locks in
                switch locks.held[id]?.isKept {
                case nil: return .success(newLock(on: id, &locks, waiters: []))
                case true?: return .failure(Self.busy)
                case false?:
                    locks.held[id]?.waiters.append(waiter)
                    return nil
                }
            }
            if let answer { waiter.resume(with: answer) }
        }
    }

    private func newLock(
        on id: AccountID, _ locks: inout Locks, waiters: [CheckedContinuation<Locks.Taken, any Error>]
    ) -> Locks.Taken {
        locks.count += 1
        locks.held[id] = Locks.Held(number: locks.count, waiters: waiters)
        return (AccountLock { [self] in release(id) }, locks.count)
    }

    /// Gives the lock to the one who waits longest.
    private func release(_ id: AccountID) {
        let next = locks.withLock { locks -> (CheckedContinuation<Locks.Taken, any Error>, Locks.Taken)? in
            guard var waiters = locks.held[id]?.waiters, !waiters.isEmpty else {
                locks.held[id] = nil
                return nil
            }
            let waiter = waiters.removeFirst()
            return (waiter, newLock(on: id, &locks, waiters: waiters))
        }
        next.map { waiter, taken in waiter.resume(returning: taken) }
    }

    private static var busy: StoreError {
        StoreError(.busy, "Another program keeps this account to itself. Try again.")
    }
}
