internal import Foundation
internal import VaultCrypto

/// A runner of C calls, each on its own thread and with a time limit.
package struct HardwareThread: Sendable {
    /// The time limit of a call.
    package let limit: Duration
    package let clock: any Clock<Duration>
    private let late: String

    /// - Parameters:
    ///   - late: the message for the person when the time is over, with the next step.
    package init(limit: Duration, clock: any Clock<Duration>, late: String) {
        self.limit = limit
        self.clock = clock
        self.late = late
    }

    /// Runs `body` on a new thread.
    ///
    /// The thread cannot be stopped, as a driver may hang. When the time is up or the caller is cancelled, the call is
    /// given up, and the result of `body` is dropped. `body` must check for that, and then only free its things in the
    /// hardware.
    ///
    /// - Parameters:
    ///   - onGivingUp: called if the call is given up, on another thread than `body`. It must not block.
    ///   - body: gets a function that tells whether the call was given up.
    /// - Throws: `timedOut`, `CancellationError`, or what `body` throws.
    package func run<Answer: Sendable>(
        onGivingUp: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (_ isGivenUp: @escaping @Sendable () -> Bool) throws -> Answer
    ) async throws -> Answer {
        let call = HardwareCall<Answer>()
        Thread.detachNewThread { @Sendable in
            Self.blockSIGPIPE()
            let result = Result { try body { call.isOver } }
            StackMemory.wipe()
            call.end(result)
        }
        let timer = Task { [clock, limit, late] in
            try await clock.sleep(for: limit)
            call.end(.failure(BiometricError(.timedOut, late)))
            onGivingUp()
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { call.whenOver($0) }
        } onCancel: {
            call.end(.failure(CancellationError()))
            onGivingUp()
        }
    }

    /// Blocks SIGPIPE, so a broken socket to the hardware does not end the process.
    private static func blockSIGPIPE() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

extension Duration {
    /// The duration for a person, rounded up: "15 seconds", "10 minutes", "2 hours".
    package var inWords: String {
        let seconds = max(1, components.seconds)
        let (count, unit) =
            switch seconds {
            case ..<120: (seconds, "second")
            case ..<7200: ((seconds + 59) / 60, "minute")
            default: ((seconds + 3599) / 3600, "hour")
            }
        return "\(count) \(unit)\(count == 1 ? "" : "s")"
    }
}
