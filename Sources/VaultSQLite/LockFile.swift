internal import Foundation
internal import VaultBase
internal import VaultStorage

/// An advisory lock on one account across processes. It is a `flock` on a separate file. The kernel releases it when
/// the holder ends, even if the holder is killed.
final class LockFile: Sendable {
    private let descriptor: CInt
    private let path: String
    private let isObsolete = Lock(false)

    /// Waits until the lock is free, and gives up when one holder keeps it for `timeout`. A long queue that moves is no
    /// reason to give up: each new holder starts the time again, up to ten times `timeout` in all.
    ///
    /// It polls, so that the wait ends and can be cancelled.
    static func acquire(
        path: String, timeout: Duration, clock: any Clock<Duration>
    ) async throws -> LockFile {
        var (waited, total) = (Duration.zero, Duration.zero)
        var pause = Duration.milliseconds(2)
        var holder = lastTaken(path)
        while true {
            if let lock = try LockFile(ifFree: path) { return lock }
            let present = lastTaken(path)
            if present != holder { (holder, waited) = (present, .zero) }
            guard waited < timeout, total < timeout * 10 else {
                throw StoreError(
                    .busy,
                    "Other programs have used this account for \(total.components.seconds) seconds. Try again."
                )
            }
            try await clock.sleep(for: pause)
            waited += pause
            total += pause
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    private init?(ifFree path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK || errno == EINTR
            close(descriptor)
            if isHeld { return nil }
            throw Self.failure(path)
        }
        // The last holder may have removed the file together with its account. Then this lock protects nothing.
        var mine = stat()
        var current = stat()
        guard fstat(descriptor, &mine) == 0, stat(path, &current) == 0, mine.st_ino == current.st_ino else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.path = path
        // For those who wait: somebody else has the lock now. If it fails, they only give up earlier.
        futimens(descriptor, nil)
    }

    /// Returns when the lock was taken last, in nanoseconds since 1970; nil if its file cannot be read.
    private static func lastTaken(_ path: String) -> Int? {
        var file = stat()
        guard stat(path, &file) == 0 else { return nil }
        return file.st_mtim.tv_sec &* 1_000_000_000 &+ file.st_mtim.tv_nsec
    }

    /// Makes the end of the lock remove its file, for an account that was deleted.
    func setObsolete() {
        isObsolete.withLock { $0 = true }
    }

    /// Must be called once.
    func release() {
        if isObsolete.withLock({ $0 }) { unlink(path) }
        // Closing is not enough while a child process that was just forked still has the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func failure(_ path: String) -> StoreError {
        let code = errno
        return StoreError(.unreadable, "The lock file \(path) cannot be used: \(StoreFolder.message(code)).")
    }
}
