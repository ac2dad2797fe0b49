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

    /// Waits for a signal and leaves it there. False when the time is up without one.
    package func wait(atMost patience: Duration) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let clock = ContinuousClock()
        let end = clock.now + patience
        while case let left = clock.now.duration(to: end), left > .zero {
            // Rounded up, so as not to ask again and again during the last millisecond.
            let milliseconds = (left / .milliseconds(1)).rounded(.up)
            let result = Glibc.poll(&poll, 1, Int32(milliseconds))
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
