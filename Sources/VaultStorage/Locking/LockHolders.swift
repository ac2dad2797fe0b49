internal import VaultBase

/// The tasks of this program that hold an account's lock. A store uses it to refuse a task that would wait for itself.
///
/// A task is known by its address, which is unique while the task runs. A task-local value would not do: tasks started
/// in the body inherit it, and they may wait.
package final class LockHolders: Sendable {
    private let tasks = Lock<[AccountID: Int]>([:])

    package init() {}

    /// Refuses to wait for a lock that the same task holds.
    ///
    /// - Throws: ``StoreError`` with code `alreadyLocked`.
    package func requireFree(_ id: AccountID) throws {
        guard let task = Self.currentTask, tasks.withLock({ $0[id] }) == task else { return }
        throw StoreError(
            .alreadyLocked,
            "This program asked for the lock of \(id) while it had that lock. Call withLock once, and make all changes in its closure."
        )
    }

    /// Runs `body`, which has the lock.
    package func hold<R>(_ id: AccountID, _ body: () async throws -> R) async rethrows -> R {
        guard let task = Self.currentTask else { return try await body() }
        tasks.withLock { $0[id] = task }
        // Another task may have the lock by now.
        defer { tasks.withLock { if $0[id] == task { $0[id] = nil } } }
        return try await body()
    }

    /// A number that tells the running task from all other running tasks.
    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}
