internal import Foundation
internal import VaultBase

/// A wait for a call that blocks. The wait stops when the task is cancelled. The call itself cannot be stopped, and its
/// thread ends with the process.
final class OneAnswer<Value: Sendable>: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Value, any Error>?)
        case over
    }

    private let state = Lock(State.waiting(nil))

    /// - Parameters:
    ///   - call: the call, which gets its own thread.
    ///   - ifCancelled: cleans up when the wait was cancelled.
    func wait(
        _ call: @escaping @Sendable () throws -> Value, ifCancelled: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if case .over = state { return true }
                    state = .waiting(continuation)
                    return false
                }
                if isOver { return continuation.resume(throwing: CancellationError()) }
                Thread.detachNewThread { @Sendable [self] in _ = give(Result(catching: call)) }
            }
        } onCancel: {
            if give(.failure(CancellationError())) { ifCancelled() }
        }
    }

    private func give(_ result: Result<Value, any Error>) -> Bool {
        let first = state.withLock { state -> State in
            defer { state = .over }
            return state
        }
        guard case .waiting(let continuation) = first else { return false }
        continuation?.resume(with: result)
        return true
    }
}
