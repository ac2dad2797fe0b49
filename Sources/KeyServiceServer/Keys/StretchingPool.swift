internal import Foundation
internal import VaultLocks

/// The threads for Argon2, with a bounded queue. They are few, as each uses much memory and a whole core.
final class StretchingPool: Sendable {
    private let places: Int
    private let used = Lock(0)
    private let queue: OperationQueue

    /// - Parameters:
    ///   - threads: the number of computations at the same time.
    ///   - places: the number of computations that may run or wait.
    init(threads: Int, places: Int) {
        self.places = places
        queue = OperationQueue()
        queue.name = "credential-vault.key-service.argon2"
        queue.maxConcurrentOperationCount = max(1, threads)
    }

    /// Keeps a place in the queue while `body` runs, so that started work can also finish.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if there is no place, or the error of `body`.
    func withPlace<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        try used.withLock { used in
            guard used < places else { throw KeyServiceServerError.busy }
            used += 1
        }
        defer { used.withLock { $0 -= 1 } }
        return try await body()
    }

    /// Runs blocking work on one of the threads. Call it only inside ``withPlace(_:)``. Cancellation does not stop it.
    func run<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            queue.addOperation { @Sendable in continuation.resume(with: Result(catching: work)) }
        }
    }
}
