internal import Foundation
internal import VaultLocks
internal import VaultStorage

/// An advisory lock on one account, held across processes: `flock` on a file of its own, which the kernel lets go of
/// when the holder ends, however it ends.
final class LockFile: Sendable {
    private let descriptor: CInt
    private let path: String
    private let isObsolete = Lock(false)

    /// Waits until the lock is free.
    ///
    /// It asks again and again instead of blocking, so that the wait has an end and can be cancelled.
    static func acquire(
        path: String, patience: Duration, clock: any Clock<Duration>
    ) async throws -> LockFile {
        var waited = Duration.zero
        var pause = Duration.milliseconds(2)
        while true {
            if let lock = try LockFile(ifFree: path) { return lock }
            guard waited < patience else {
                throw StoreError(
                    .busy,
                    "Another program has been working on this account for \(patience.components.seconds) seconds. Try again."
                )
            }
            try await clock.sleep(for: pause)
            waited += pause
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
        // The holder before us may have removed the file together with its account: then this is a lock on nothing.
        var mine = stat()
        var current = stat()
        guard fstat(descriptor, &mine) == 0, stat(path, &current) == 0, mine.st_ino == current.st_ino else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.path = path
    }

    /// Has the lock's file removed at the end of the lock, for an account that is gone.
    func setObsolete() {
        isObsolete.withLock { $0 = true }
    }

    /// To be called once.
    func release() {
        if isObsolete.withLock({ $0 }) { unlink(path) }
        // Closing is not enough while a child that was just forked still has the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func failure(_ path: String) -> StoreError {
        let code = errno
        return StoreError(.unreadable, "The lock file \(path) cannot be used: \(StoreFolder.message(code)).")
    }
}
