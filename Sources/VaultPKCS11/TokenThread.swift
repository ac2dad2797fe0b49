#if PKCS11
    internal import CPKCS11
    internal import Foundation
    internal import Synchronization
    internal import VaultBiometric

    /// Runs C calls on a thread of their own, for as long as somebody is willing to wait for them.
    struct TokenThread: Sendable {
        /// How long a call may take.
        let limit: Duration
        let clock: any Clock<Duration>

        /// Runs `body` on a new thread.
        ///
        /// The thread cannot be stopped: a module that hangs keeps it. When the time is up, or the caller is cancelled,
        /// the call is given up. `body` then asks nothing more of the token but to log out and to close what it opened,
        /// and what it returns is thrown away.
        ///
        /// - Parameter body: gets a function that tells whether the call was given up.
        /// - Throws: `timedOut`, `CancellationError`, or what `body` throws.
        func run<Answer: Sendable>(
            _ body: @escaping @Sendable (_ isGivenUp: @escaping @Sendable () -> Bool) throws -> Answer
        ) async throws -> Answer {
            let call = TokenThreadCall<Answer>()
            Thread.detachNewThread { @Sendable in
                Self.holdBackBrokenPipes()
                let result = Result { try body { call.isOver } }
                pkcs11_wipe_stack()
                call.end(result)
            }
            let timer = Task { [clock, limit] in
                try await clock.sleep(for: limit)
                call.end(
                    .failure(
                        BiometricError(
                            .timedOut,
                            "The token did not answer within \(max(1, limit.components.seconds)) s. Unplug it, plug it in "
                                + "again, and try again.")))
            }
            defer { timer.cancel() }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { call.whenOver($0) }
            } onCancel: {
                call.end(.failure(CancellationError()))
            }
        }

        /// A token behind a socket that is gone must not end the process by SIGPIPE.
        private static func holdBackBrokenPipes() {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
        }
    }

    /// A call that has one outcome: the first one.
    private final class TokenThreadCall<Answer: Sendable>: Sendable {
        private enum State {
            case running
            case awaited(CheckedContinuation<Answer, any Error>)
            case over(Result<Answer, any Error>)
            case done
        }

        private let state = Mutex(State.running)

        var isOver: Bool {
            state.withLock { state in
                switch state {
                case .running, .awaited: false
                case .over, .done: true
                }
            }
        }

        func end(_ result: Result<Answer, any Error>) {
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

        func whenOver(_ continuation: CheckedContinuation<Answer, any Error>) {
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
#endif
