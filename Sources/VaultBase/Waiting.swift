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
///
/// - Returns: nil if the time was over first.
@discardableResult
package func within<Answer: Sendable>(
    _ limit: Duration, _ clock: any Clock<Duration>, _ work: @escaping @Sendable () async -> Answer
) async -> Answer? {
    await withTaskGroup(of: Answer?.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await clock.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}
