internal import VaultBase

/// Locks that let one request at a time work on a key. The others wait in order of arrival.
final class KeyQueues: Sendable {
    /// The most requests that may wait for one key. More mean an attack or a broken client.
    private static let maxWaiting = 256

    /// Each held key has an entry with its waiting requests.
    private let waiting = Lock<[String: [CheckedContinuation<Void, Never>]]>([:])

    /// Runs `body` while no other request holds the key. Cancellation stops neither the wait nor `body`.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if too many requests wait, or the error of `body`.
    func withHold<R: Sendable>(on keyID: String, _ body: () async throws -> R) async throws -> R {
        if try !takeNow(keyID) { await take(keyID) }
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

    private func take(_ keyID: String) async {
        await withCheckedContinuation { continuation in
            let isTaken = waiting.withLock { waiting in
                // Another request may have released the key between the two locks.
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
