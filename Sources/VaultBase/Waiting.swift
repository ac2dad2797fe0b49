internal import Foundation

/// Runs work that blocks on a new thread. Dispatch and Swift's tasks have only a few threads, which must not wait.
///
/// Cancellation does not stop it.
package func onThread<Answer: Sendable>(
    _ work: @escaping @Sendable () throws -> Answer
) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { @Sendable in continuation.resume(with: Result(catching: work)) }
    }
}

/// Runs `work`, and cancels it when the time is over. Returns when `work` has ended.
package func within(
    _ limit: Duration, _ clock: any Clock<Duration>, _ work: @escaping @Sendable () async -> Void
) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask(operation: work)
        group.addTask { try? await clock.sleep(for: limit) }
        await group.next()
        group.cancelAll()
    }
}
