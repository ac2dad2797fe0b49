internal import VaultBase
internal import VaultBiometric

/// A gate that lets tasks wait while it is closed, and reports a waiting task.
final class Gate: Sendable {
    private struct State {
        var isClosed = false
        var nextID = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    func close() { state.withLock { $0.isClosed = true } }

    func open() {
        let waiting = state.withLock { state in
            state.isClosed = false
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until the gate is open.
    ///
    /// - Throws: `BiometricError` with code `cancelled` if the task is cancelled during the wait.
    func pass() async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enum Outcome {
                    case passes, cancelled
                    case waits([CheckedContinuation<Void, Never>])
                }
                let outcome = state.withLock { state -> Outcome in
                    // An earlier cancellation found no waiting task.
                    if Task.isCancelled { return .cancelled }
                    guard state.isClosed else { return .passes }
                    state.waiting[id] = continuation
                    defer { state.watchers = [] }
                    return .waits(state.watchers)
                }
                switch outcome {
                case .passes: continuation.resume()
                case .cancelled: continuation.resume(throwing: Self.cancelled)
                case .waits(let watchers): for watcher in watchers { watcher.resume() }
                }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: Self.cancelled)
        }
    }

    /// Returns when a task waits.
    func waitForWaiter() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if !state.waiting.isEmpty { return true }
                state.watchers.append(continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private static let cancelled = BiometricError(.cancelled, "Cancelled.")
}
