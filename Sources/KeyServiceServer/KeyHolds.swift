internal import VaultLocks

/// Lets one request at a time work on a key; the others wait in the order in which they came.
final class KeyHolds: Sendable {
    /// How many may wait for one key. More is an attack or a broken client.
    private static let maxWaiting = 256

    /// A key that is held has an entry, with those who wait for it.
    private let waiting = Lock<[String: [CheckedContinuation<Void, Never>]]>([:])

    /// Runs `body` while nobody else holds the key. Being cancelled stops neither the waiting nor the body.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` when too many wait, or what `body` throws.
    func withHold<R: Sendable>(on keyID: String, _ body: () async throws -> R) async throws -> R {
        if try !takeNow(keyID) { await take(keyID) }
        defer { release(keyID) }
        return try await body()
    }

    /// Takes the key if nobody holds it.
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

    private func take(_ keyID: String) async {
        await withCheckedContinuation { continuation in
            let isTaken = waiting.withLock { waiting in
                // It may have been released between the two locks.
                guard waiting[keyID] != nil else {
                    waiting[keyID] = []
                    return true
                }
                waiting[keyID]?.append(continuation)
                return false
            }
            if isTaken { continuation.resume() }
        }
    }

    private func release(_ keyID: String) {
        let next = waiting.withLock { waiting in
            guard waiting[keyID]?.isEmpty == false else {
                waiting[keyID] = nil
                return nil as CheckedContinuation<Void, Never>?
            }
            return waiting[keyID]?.removeFirst()
        }
        next?.resume()
    }
}
