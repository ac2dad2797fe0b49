internal import VaultBase
internal import VaultHTTP

/// A mailbox that passes one callback from its connection to the waiting task.
final class CallbackMailbox: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<ReceivedRedirect, any Error>)
        case arrived(ReceivedRedirect)
        /// The callback was taken. `closing` is the error of a later close, if there was one.
        case taken(closing: (any Error)?)
        case closed(any Error)
    }

    private let state = Lock(State.empty)
    private let port: Int

    init(port: Int) {
        self.port = port
    }

    /// Accepts a callback. Returns false if there was one before, or if the mailbox is closed.
    func offer(_ callback: ReceivedRedirect) -> Bool {
        let waiter: CheckedContinuation<ReceivedRedirect, any Error>?
        switch state.withLock({ state in
            let old = state
            switch old {
            case .empty: state = .arrived(callback)
            case .waiting: state = .taken(closing: nil)
            default: break
            }
            return old
        }) {
        case .empty: return true
        case .waiting(let continuation): waiter = continuation
        default: return false
        }
        waiter?.resume(returning: callback)
        return true
    }

    /// Lets the mailbox accept another callback.
    func reopen() {
        state.withLock { state in
            guard case .taken(let closing) = state else { return }
            state = closing.map { .closed($0) } ?? .empty
        }
    }

    /// Waits for the callback. Only one task may wait, and only once for each callback.
    func take() async throws -> ReceivedRedirect {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<ReceivedRedirect, any Error>? = state.withLock { state in
                switch state {
                case .empty:
                    state = .waiting(continuation)
                    return nil
                case .arrived(let callback):
                    state = .taken(closing: nil)
                    return .success(callback)
                case .closed(let error): return .failure(error)
                case .waiting, .taken: return .failure(RedirectListenerError(.stopped, port: port))
                }
            }
            if let result { continuation.resume(with: result) }
        }
    }

    /// Throws `error` in the waiting task, and in later calls. A callback that was taken before stays valid.
    func close(_ error: any Error) {
        let old = state.withLock { state in
            let old = state
            switch old {
            case .empty, .waiting, .arrived: state = .closed(error)
            case .taken: state = .taken(closing: error)
            case .closed: break
            }
            return old
        }
        if case .waiting(let continuation) = old { continuation.resume(throwing: error) }
    }
}
