#if FIDO2
    internal import CFIDO2
    internal import Foundation
    internal import VaultBiometric

    /// Runs C calls on a thread of their own, for as long as somebody is willing to wait for them.
    struct KeyThread: Sendable {
        let clock: any Clock<Duration>

        /// Runs `body` on a new thread.
        ///
        /// The thread cannot be stopped: a driver that hangs keeps it. When the time is up, or the caller is cancelled,
        /// the call is given up: the key is told to wait for no touch, `body` begins nothing new, and what it returns is
        /// thrown away.
        ///
        /// - Parameters:
        ///   - limit: how long it may take.
        ///   - late: what is thrown when it takes longer.
        /// - Throws: `late`, `CancellationError`, or what `body` throws.
        func run<Answer: Sendable>(
            within limit: Duration, orThrow late: BiometricError,
            _ body: @escaping @Sendable (Interruption) throws -> Answer
        ) async throws -> Answer {
            let call = HardwareCall<Answer>()
            let interruption = Interruption()
            Thread.detachNewThread { @Sendable in
                // Counts for this thread alone. A key that cannot do what is needed is told apart from one that fails.
                fido_init(FIDO_DISABLE_U2F_FALLBACK)
                let result = Result { try body(interruption) }
                fido2_wipe_stack()
                // Whoever gives up tells why.
                if !interruption.isGivenUp { call.end(result) }
            }
            let timer = Task { [clock] in
                try await clock.sleep(for: limit)
                interruption.giveUp()
                call.end(.failure(late))
            }
            defer { timer.cancel() }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { call.whenOver($0) }
            } onCancel: {
                interruption.giveUp()
                call.end(.failure(CancellationError()))
            }
        }
    }
#endif
