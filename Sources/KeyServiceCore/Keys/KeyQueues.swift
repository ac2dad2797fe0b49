internal import VaultBase

/// Locks that let one request at a time work on a key. The others wait in order of arrival.
final class KeyQueues: Sendable {
    /// The most requests that may wait for one key. More mean an attack or a broken client.
    private static let maxWaiting = 256

    /// Each held key has an entry with its waiting requests.
    private let waiting = Lock<[String: [Waiter]]>([:])
    private let timer = DeadlineTimer()

    /// Runs `body` while no other request holds the key. Cancellation stops neither the wait nor `body`.
    ///
    /// - Parameter deadline: the end of the wait. At the deadline the request is refused, even if another request still
    ///   holds the key. Otherwise, if the store hangs, each request would wait for it in turn.
    /// - Throws: ``KeyServiceServerError`` with code `busy` if too many requests wait, or at the deadline, or the error
    ///   of `body`.
    func withHold<R: Sendable>(
        on keyID: String, deadline: ContinuousClock.Instant, _ body: () async throws -> R
    ) async throws -> R {
        if try !takeNow(keyID) { try await take(keyID, deadline) }
        defer { release(keyID) }
        return try await body()
    }

    private func takeNow(_ keyID: String) throws -> Bool {
        try waiting.withLock { waiting in
            guard let others = waiting[keyID] else {
                waiting[keyID] = []
                return true
            }
            guard others.count < Self.maxWaiting else { throw KeyServiceServerError.busy }
            return false
        }
    }

    private func take(_ keyID: String, _ deadline: ContinuousClock.Instant) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let isTaken = waiting.withLock { waiting in
                // Another request may have released the key between the two locks.
                guard waiting[keyID] != nil else {
                    waiting[keyID] = []
                    return true
                }
                waiting[keyID]?.append(Waiter(deadline: deadline, continuation: continuation))
                return false
            }
            guard !isTaken else { return continuation.resume() }
            timer.set(deadline) { [weak self] in self?.refuseLate() }
        }
    }

    private func release(_ keyID: String) {
        let (late, next) = waiting.withLock { waiting -> ([Waiter], Waiter?) in
            guard var others = waiting[keyID], !others.isEmpty else {
                waiting[keyID] = nil
                return ([], nil)
            }
            let late = others.removeLate(at: .now)
            guard !others.isEmpty else {
                waiting[keyID] = nil
                return (late, nil)
            }
            let next = others.removeFirst()
            waiting[keyID] = others
            return (late, next)
        }
        for waiter in late { waiter.continuation.resume(throwing: KeyServiceServerError.busy) }
        next?.continuation.resume()
    }

    /// Refuses the requests whose time is up, and returns the first deadline of the others.
    private func refuseLate() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        let (late, next) = waiting.withLock { waiting -> ([Waiter], ContinuousClock.Instant?) in
            var late: [Waiter] = []
            for keyID in Array(waiting.keys) { late += waiting[keyID]?.removeLate(at: now) ?? [] }
            return (late, waiting.values.lazy.compactMap(\.firstDeadline).min())
        }
        for waiter in late { waiter.continuation.resume(throwing: KeyServiceServerError.busy) }
        return next
    }
}
