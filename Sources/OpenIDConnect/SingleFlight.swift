/// Lets many tasks share one piece of work.
///
/// A cancelled caller gets `CancellationError` at once, and the work continues for the others. All callers that come
/// during a run get its result. Later callers start a new run.
actor SingleFlight<Value: Sendable> {
    private var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
    private var nextID = 0
    private var isRunning = false

    /// Joins the run under way, or starts one with `work`.
    func run(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        nextID += 1
        let id = nextID
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiters[id] = continuation
                guard !isRunning else { return }
                isRunning = true
                // This is not a child of the caller's task, as it must outlive the caller's cancellation.
                Task {
                    do { finish(.success(try await work())) } catch { finish(.failure(error)) }
                }
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
    }

    private func finish(_ result: Result<Value, any Error>) {
        isRunning = false
        let all = waiters.values
        waiters = [:]
        for waiter in all { waiter.resume(with: result) }
    }

    private func cancel(_ id: Int) {
        waiters.removeValue(forKey: id)?.resume(throwing: CancellationError())
    }
}
