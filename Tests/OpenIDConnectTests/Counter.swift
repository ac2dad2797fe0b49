import VaultBase

/// Counts calls.
final class Counter: Sendable {
    private let count = Lock(0)

    /// 1 for the first call.
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    var value: Int { count.withLock { $0 } }
}
