internal import VaultBase

/// A call of hardware on its own thread. It may answer, run out of time, or be given up. Only the first outcome counts.
package final class HardwareCall<Answer: Sendable>: Sendable {
    private enum State {
        case running
        case awaited(CheckedContinuation<Answer, any Error>)
        case over(Result<Answer, any Error>)
        case done
    }

    private let state = Lock(State.running)

    package init() {}

    /// Whether the call was given up, or has ended.
    package var isOver: Bool {
        state.withLock { state in
            switch state {
            case .running, .awaited: false
            case .over, .done: true
            }
        }
    }

    /// Ends the call, unless it has already ended.
    package func end(_ result: Result<Answer, any Error>) {
        let waiting: CheckedContinuation<Answer, any Error>? = state.withLock { state in
            switch state {
            case .running: state = .over(result)
            case .awaited(let continuation):
                state = .done
                return continuation
            case .over, .done: break
            }
            return nil
        }
        waiting?.resume(with: result)
    }

    /// Resumes the continuation with the outcome. Call it once.
    package func whenOver(_ continuation: CheckedContinuation<Answer, any Error>) {
        let result: Result<Answer, any Error>? = state.withLock { state in
            if case .over(let result) = state {
                state = .done
                return result
            }
            state = .awaited(continuation)
            return nil
        }
        if let result { continuation.resume(with: result) }
    }
}
