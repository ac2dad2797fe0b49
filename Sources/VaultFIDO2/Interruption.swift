#if FIDO2
    internal import CFIDO2
    internal import Dispatch
    internal import Foundation
    internal import Synchronization
    internal import VaultBase
    internal import VaultBiometric

    /// The way to stop a call on another thread: whether it was given up, and the key that must be told.
    final class Interruption: Sendable {
        /// The mark is sound: another thread only writes one report to the key, and only while the key is attached.
        private struct Key: @unchecked Sendable {
            let device: OpaquePointer
            let fido2: LibFIDO2
            /// Signalled when the key is detached. Each key has its own.
            let detached = DispatchSemaphore(value: 0)
        }

        private let givenUp = Atomic(false)
        private let key = Lock<Key?>(nil)

        /// Whether the call was given up.
        var isGivenUp: Bool { givenUp.load(ordering: .sequentiallyConsistent) }

        func check() throws(CancellationError) {
            if isGivenUp { throw CancellationError() }
        }

        /// From now on, tells the key if the call is given up. Detach the key before closing it.
        func attach(_ device: OpaquePointer, _ fido2: LibFIDO2) {
            key.withLock { [key = Key(device: device, fido2: fido2)] in $0 = key }
        }

        /// - Parameter device: the attached key. Nothing happens for another key.
        func detach(_ device: OpaquePointer) {
            key.withLock { key in
                guard key?.device == device else { return }
                key?.detached.signal()
                key = nil
            }
        }

        /// Gives up the call. A key that waits for a touch stops blinking (CTAP 2.1 section 11.2.9.1.5,
        /// "CTAPHID_CANCEL").
        ///
        /// libfido2 may be between two commands, and a key forgets a cancellation that comes before the command. So the
        /// cancellation is repeated until the call ends. This happens on its own thread, as the key may not accept
        /// reports any more.
        func giveUp() {
            if givenUp.exchange(true, ordering: .sequentiallyConsistent) { return }
            Thread.detachNewThread { @Sendable in
                for _ in 0..<100 {
                    let detached = self.key.withLock { key in
                        // The call fails for a key that is gone or too old. That does not matter.
                        if let key { _ = key.fido2.fido_dev_cancel(key.device) }
                        return key?.detached
                    }
                    guard let detached, detached.wait(timeout: .now() + .milliseconds(100)) == .timedOut else { return }
                }
            }
        }
    }

    extension HardwareThread {
        /// Runs `body` with libfido2 and an interruption for conversations with keys. If the call is given up, the key
        /// stops waiting for a touch, and `body` begins nothing new.
        func converse<Answer: Sendable>(
            _ body: @escaping @Sendable (Interruption, LibFIDO2) throws -> Answer
        ) async throws -> Answer {
            let interruption = Interruption()
            return try await run(onGivingUp: interruption.giveUp) { _ in
                let fido2 = try LibFIDO2.open()
                // The setting holds for this thread alone. Without the fallback, an unsuitable key can be told apart
                // from one that fails.
                fido2.fido_init(FIDO_DISABLE_U2F_FALLBACK)
                return try body(interruption, fido2)
            }
        }
    }
#endif
