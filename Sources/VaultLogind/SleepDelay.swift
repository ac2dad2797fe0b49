internal import Glibc
internal import VaultBase

/// A delay of the machine's sleep, for as long as logind allows, usually five seconds.
final class SleepDelay: Sendable {
    private let descriptor: Lock<Int32?>

    /// Takes over the file descriptor of the delay.
    init(_ descriptor: Int32) { self.descriptor = Lock(descriptor) }

    deinit { end() }

    /// Lets the machine sleep.
    func end() {
        descriptor.withLock { descriptor in
            if let open = descriptor.take() { close(open) }
        }
    }
}
