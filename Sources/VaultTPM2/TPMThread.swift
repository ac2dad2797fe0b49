#if TPM2
    internal import CTPM2
    internal import Foundation
    internal import VaultBiometric

    /// Runs C calls on a thread of their own, for as long as somebody is willing to wait for them.
    struct TPMThread: Sendable {
        /// How long a call may take.
        let limit: Duration
        let clock: any Clock<Duration>

        /// Runs `body` on a new thread.
        ///
        /// The thread cannot be stopped: a driver that hangs keeps it. When the time is up, or the caller is cancelled,
        /// the call is given up. `body` then sends nothing more to the TPM but what frees what it held there, and what
        /// it returns is thrown away.
        ///
        /// - Parameter body: gets a function that tells whether the call was given up.
        /// - Throws: `timedOut`, `CancellationError`, or what `body` throws.
        func run<Answer: Sendable>(
            _ body: @escaping @Sendable (_ isGivenUp: @escaping @Sendable () -> Bool) throws -> Answer
        ) async throws -> Answer {
            let call = HardwareCall<Answer>()
            Thread.detachNewThread { @Sendable in
                Self.holdBackBrokenPipes()
                let result = Result { try body { call.isOver } }
                tpm2_wipe_stack()
                call.end(result)
            }
            let timer = Task { [clock, limit] in
                try await clock.sleep(for: limit)
                call.end(
                    .failure(
                        BiometricError(
                            .timedOut,
                            "The TPM did not answer within \(limit.inWords). Try again; if it lasts, restart the machine."
                        )))
            }
            defer { timer.cancel() }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { call.whenOver($0) }
            } onCancel: {
                call.end(.failure(CancellationError()))
            }
        }

        /// A TPM behind a socket that is gone must not end the process by SIGPIPE.
        private static func holdBackBrokenPipes() {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
        }
    }
#endif
