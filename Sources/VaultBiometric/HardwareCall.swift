internal import VaultLocks

/// A call of hardware on a thread of its own, which may answer, run out of time, or be given up: it has one outcome, the
/// first one.
package final class HardwareCall<Answer: Sendable>: Sendable {
    private enum State {
        case running
        case awaited(CheckedContinuation<Answer, any Error>)
        case over(Result<Answer, any Error>)
        case done
    }

    private let state = Lock(State.running)

    package init() {}

    /// Whether it was given up, or has ended.
    package var isOver: Bool {
        state.withLock { state in
            switch state {
            case .running, .awaited: false
            case .over, .done: true
            }
        }
    }

    /// Ends it, unless it has ended already.
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

    /// Resumes the continuation with the outcome. To be called once.
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
