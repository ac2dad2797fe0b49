internal import Foundation
internal import VaultLocks

/// Waits for a call that blocks, and stops waiting when the task is cancelled: the call itself cannot be stopped, and its
/// thread goes with the process.
final class OneAnswer<Value: Sendable>: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Value, any Error>?)
        case over
    }

    private let state = Lock(State.waiting(nil))

    /// - Parameters:
    ///   - call: blocks a thread of its own.
    ///   - ifCancelled: what has to be put right when nobody waits for the call any more.
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

    /// - Returns: whether it is the first answer.
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
