internal import VaultLocks

/// Which task of this program runs with which account's lock, for a store that tells a task when it would wait for itself.
///
/// A task is known by its address, which no other task has while it runs. A value of the task would not do: tasks that are
/// started in the body inherit it, and they may wait.
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

    /// Runs what has the lock.
    package func hold<R>(_ id: AccountID, _ body: () async throws -> R) async rethrows -> R {
        guard let task = Self.currentTask else { return try await body() }
        tasks.withLock { $0[id] = task }
        // Somebody else may have the lock by now.
        defer { tasks.withLock { if $0[id] == task { $0[id] = nil } } }
        return try await body()
    }

    /// What tells the running task from every other one that runs.
    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}
