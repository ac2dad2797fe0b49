internal import VaultBase

/// The limit of requests under way. Beyond it the service answers "busy", so the accepted requests stay fast.
package final class RequestPermits: Sendable {
    /// The wait before a refusal. Clients that ask again at once would take all the time of the accepted requests: with
    /// 160 such connections, a refusal at once left 600 releases a second of 16,000.
    private static let pause = Duration.milliseconds(100)

    private let limit: Int
    private let pause: Duration
    private let used = Lock(0)

    package init(_ limit: Int, pause: Duration = RequestPermits.pause) {
        self.limit = limit
        self.pause = pause
    }

    struct Full: Error {}

    /// Runs `body` with a permit.
    ///
    /// - Throws: ``Full`` if none is left, or the error of `body`.
    package func withPermit<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        guard take() else { throw Full() }
        defer { used.withLock { $0 -= 1 } }
        return try await body()
    }

    /// Runs `body`, and turns ``Full`` into "busy" after a pause. Nothing is held during the pause.
    package func slowingRefusals<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch is Full {
            try? await Task.sleep(for: pause)
            throw KeyServiceServerError.busy
        }
    }

    private func take() -> Bool {
        used.withLock { used in
            guard used < limit else { return false }
            used += 1
            return true
        }
    }
}
