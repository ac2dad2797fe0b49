internal import VaultLocks

/// The limit of requests under way. Beyond it the service answers "busy" at once, so the accepted requests stay fast.
final class RequestPlaces: Sendable {
    private let limit: Int
    private let used = Lock(0)

    init(_ limit: Int) { self.limit = limit }

    /// Runs `body` in a place.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if there is no place, or the error of `body`.
    func withPlace<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        try used.withLock { used in
            guard used < limit else { throw KeyServiceServerError.busy }
            used += 1
        }
        defer { used.withLock { $0 -= 1 } }
        return try await body()
    }
}
