internal import Foundation
internal import VaultCrypto

/// Runs C calls on a thread of their own, for as long as somebody is willing to wait for them.
package struct HardwareThread: Sendable {
    /// How long a call may take.
    package let limit: Duration
    package let clock: any Clock<Duration>
    private let late: String

    /// - Parameters:
    ///   - limit: how long a call may take.
    ///   - clock: what the limit is counted on.
    ///   - late: what a person is told when the limit is over, with the next step.
    package init(limit: Duration, clock: any Clock<Duration>, late: String) {
        self.limit = limit
        self.clock = clock
        self.late = late
    }

    /// Runs `body` on a new thread.
    ///
    /// The thread cannot be stopped: a driver that hangs keeps it. When the time is up, or the caller is cancelled, the
    /// call is given up: nobody waits for it any more, and what `body` returns is thrown away. `body` has to ask then, and
    /// to do nothing more with the hardware but free what it holds there.
    ///
    /// - Parameters:
    ///   - onGivingUp: called when the call is given up, on another thread than `body`. It must not block.
    ///   - body: gets a function that tells whether the call was given up.
    /// - Throws: `timedOut`, `CancellationError`, or what `body` throws.
    package func run<Answer: Sendable>(
        onGivingUp: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (_ isGivenUp: @escaping @Sendable () -> Bool) throws -> Answer
    ) async throws -> Answer {
        let call = HardwareCall<Answer>()
        Thread.detachNewThread { @Sendable in
            Self.holdBackBrokenPipes()
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

    /// Hardware behind a socket that is gone must not end the process by SIGPIPE.
    private static func holdBackBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

extension Duration {
    /// For a person: "15 seconds", "10 minutes", "2 hours". What is not whole is rounded up.
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
