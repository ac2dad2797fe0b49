internal import CLinux
internal import Foundation

/// Wakes up a thread that waits in a system call (eventfd(2)).
package final class EventDescriptor: Sendable {
    /// For poll(2): readable once ``signal()`` was called.
    package let descriptor: Int32

    /// nil when the process has no file descriptor left.
    package init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    package func signal() { Self.signal(descriptor) }

    /// As ``signal()``, and safe in a signal handler: it allocates and locks nothing and keeps `errno`.
    static func signal(_ descriptor: Int32) {
        let error = errno
        // It can fail only when nobody has looked for 2^64 signals.
        _ = eventfd_write(descriptor, 1)
        errno = error
    }

    /// Takes back all signals that were given until now.
    package func reset() {
        signal()
        _ = wait()
    }

    /// Waits for a signal and leaves it there. False when `patience` is over without one.
    package func wait(atMost patience: Duration) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let start = ContinuousClock.now
        while case let left = patience - (ContinuousClock.now - start), left > .zero {
            // Rounded up: what is left of a millisecond would be spent in polling.
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            guard poll(&wanted, 1, Int32(clamping: milliseconds)) <= 0 else { return true }
        }
        return false
    }

    /// Waits for a signal, and takes back all that were given until now. False when it cannot wait.
    func wait() -> Bool {
        var count: eventfd_t = 0
        while eventfd_read(descriptor, &count) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }
}
