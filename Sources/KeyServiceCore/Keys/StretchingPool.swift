internal import Foundation
internal import VaultBase

/// The threads for Argon2, with a bounded queue. They are few, as each uses much memory and a whole core.
///
/// New keys have their own permits, and start only while no guess waits. So many new keys do not stop logins.
package final class StretchingPool: Sendable {
    private struct Used {
        var guesses = 0
        var newKeys = 0

        mutating func take(isNewKey: Bool, _ count: Int) {
            if isNewKey { newKeys += count } else { guesses += count }
        }
    }

    private let maxRequests: Int
    private let maxNewKeys: Int
    private let observer: (any KeyServiceObserver)?
    private let used = Lock(Used())
    private let queue: OperationQueue

    /// - Parameters:
    ///   - threads: the number of computations at the same time.
    ///   - maxRequests: the number of guesses that may run or wait. The limit for new keys is an eighth of it.
    package init(threads: Int, maxRequests: Int, observer: (any KeyServiceObserver)? = nil) {
        self.maxRequests = maxRequests
        self.observer = observer
        maxNewKeys = (maxRequests + 7) / 8
        queue = OperationQueue()
        queue.name = "credential-vault.key-service.argon2"
        queue.maxConcurrentOperationCount = max(1, threads)
    }

    /// Holds a permit for the queue while `body` runs, so that started work can also finish.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if no permit is left, or the error of `body`.
    func withPermit<R: Sendable>(isNewKey: Bool, _ body: () async throws -> R) async throws -> R {
        try used.withLock { used in
            guard isNewKey ? used.newKeys < maxNewKeys : used.guesses < maxRequests else {
                throw KeyServiceServerError.busy
            }
            used.take(isNewKey: isNewKey, 1)
        }
        observer?.argon2RequestBegan()
        defer {
            used.withLock { $0.take(isNewKey: isNewKey, -1) }
            observer?.argon2RequestEnded()
        }
        return try await body()
    }

    /// Runs blocking work on one of the threads. Call it only inside ``withPermit(isNewKey:_:)``. Cancellation does not
    /// stop it.
    func run<R: Sendable>(isNewKey: Bool, _ work: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let operation = BlockOperation { @Sendable in continuation.resume(with: Result(catching: work)) }
            operation.queuePriority = isNewKey ? .low : .normal
            queue.addOperation(operation)
        }
    }
}
