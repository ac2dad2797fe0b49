internal import CLinux
internal import Foundation

/// An event that wakes up a thread in a system call (eventfd(2)).
package final class EventDescriptor: Sendable {
    /// The file descriptor for poll(2). It is readable after ``signal()``.
    package let descriptor: Int32

    /// Makes an event. Nil if the process has no file descriptor left.
    package init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    package func signal() { Self.signal(descriptor) }

    /// Signals like ``signal()``. It is safe in a signal handler: it allocates and locks nothing, and keeps `errno`.
    static func signal(_ descriptor: Int32) {
        let error = errno
        // The call fails only after 2^64 unread signals.
        _ = eventfd_write(descriptor, 1)
        errno = error
    }

    /// Takes back all signals so far.
    package func reset() {
        signal()
        _ = wait()
    }

    /// Waits for a signal and does not take it back. Returns false if none came within `timeout`.
    package func wait(atMost timeout: Duration) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let start = ContinuousClock.now
        while case let left = timeout - (ContinuousClock.now - start), left > .zero {
            // The wait is rounded up, as the rest of a millisecond would be a busy loop.
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            guard poll(&wanted, 1, Int32(clamping: milliseconds)) <= 0 else { return true }
        }
        return false
    }

    /// Waits for a signal, and takes back all signals so far. Returns false if it cannot wait.
    func wait() -> Bool {
        var count: eventfd_t = 0
        while eventfd_read(descriptor, &count) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }
}
