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

/// Runs `work`, and returns its answer if it comes in time. Otherwise `work` goes on: it may wait for a disk that does not
/// answer, and then nothing stops it.
///
/// - Returns: nil if the time was over first.
package func answer<Answer: Sendable>(
    within limit: Duration, _ clock: any Clock<Duration>, of work: @escaping @Sendable () async -> Answer
) async -> Answer? {
    let (answers, continuation) = AsyncStream<Answer>.makeStream()
    Task { continuation.yield(await work()) }
    return await within(limit, clock) { await answers.first { _ in true } } ?? nil
}
