internal import VaultBase

/// Counts across tasks.
package final class Counter: Sendable {
    private let state = Lock(0)

    package init() {}

    package var value: Int { state.withLock { $0 } }

    /// - Returns: the new value: 1 for the first call.
    @discardableResult
    package func increment() -> Int {
        state.withLock { value in
            value += 1
            return value
        }
    }
}
