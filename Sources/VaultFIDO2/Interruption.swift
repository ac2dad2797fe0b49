#if FIDO2
    internal import CFIDO2
    internal import Dispatch
    internal import Foundation
    internal import Synchronization
    internal import VaultLocks
    internal import VaultBiometric

    /// What reaches into a call that runs on another thread: whether it was given up, and the key to be told so.
    final class Interruption: Sendable {
        /// Sound, because the only thing that is done to the key from another thread is to write one report to it, and
        /// only while the key is attached.
        private struct Key: @unchecked Sendable {
            let device: OpaquePointer
            /// Given when it is detached. Each has its own: an earlier key says nothing about this one.
            let detached = DispatchSemaphore(value: 0)
        }

        private let givenUp = Atomic(false)
        private let key = Lock<Key?>(nil)

        /// Whether nobody waits any more.
        var isGivenUp: Bool { givenUp.load(ordering: .sequentiallyConsistent) }

        func check() throws(CancellationError) {
            if isGivenUp { throw CancellationError() }
        }

        /// From now on the key is told when the call is given up. Whoever attaches it detaches it before closing it.
        func attach(_ device: OpaquePointer) {
            key.withLock { [key = Key(device: device)] in $0 = key }
        }

        /// - Parameter device: nothing happens when it is not the one that is attached.
        func detach(_ device: OpaquePointer) {
            key.withLock { key in
                guard key?.device == device else { return }
                key?.detached.signal()
                key = nil
            }
        }

        /// Gives the call up. A key that waits for a touch stops blinking (CTAP 2.1 section 11.2.9.1.5, "CTAPHID_CANCEL").
        ///
        /// libfido2 may be between two commands just then, and a key forgets a cancellation that comes before the command
        /// which waits for the touch. So it is told again, until the call has come to its end. This happens on a thread of
        /// its own: the key may have stopped taking reports.
        func giveUp() {
            if givenUp.exchange(true, ordering: .sequentiallyConsistent) { return }
            Thread.detachNewThread { @Sendable in
                for _ in 0..<100 {
                    let detached = self.key.withLock { key in
                        // It fails for a key that is gone, or too old to wait.
                        if let key { _ = fido_dev_cancel(key.device) }
                        return key?.detached
                    }
                    guard let detached, detached.wait(timeout: .now() + .milliseconds(100)) == .timedOut else { return }
                }
            }
        }
    }

    extension HardwareThread {
        /// Runs `body` with what is needed to converse with keys. When the call is given up, the key is told to wait for no
        /// touch, and `body` begins nothing new.
        func converse<Answer: Sendable>(
            _ body: @escaping @Sendable (Interruption) throws -> Answer
        ) async throws -> Answer {
            let interruption = Interruption()
            return try await run(onGivingUp: interruption.giveUp) { _ in
                // Counts for this thread alone. A key that cannot do what is needed is told apart from one that fails.
                fido_init(FIDO_DISABLE_U2F_FALLBACK)
                return try body(interruption)
            }
        }
    }
#endif
