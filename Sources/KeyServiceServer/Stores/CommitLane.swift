internal import Dispatch
internal import VaultLocks

/// The writer of some of the keys. All changes that wait at the end of a transaction go into the next one, so many
/// requests share one fsync.
final class CommitLane: Sendable {
    /// A change with its caller, if there is one. The caller gets one answer: the outcome, or "busy" at the deadline.
    private final class Waiting: Sendable {
        let change: KeyRecordChange
        let deadline: ContinuousClock.Instant?
        /// The number of repeats that are left if the change comes too early.
        let repeats: Int
        private let continuation: Lock<CheckedContinuation<KeyRecordOutcome, any Error>?>

        init(
            _ change: KeyRecordChange, deadline: ContinuousClock.Instant? = nil, repeats: Int = 0,
            _ continuation: CheckedContinuation<KeyRecordOutcome, any Error>? = nil
        ) {
            self.change = change
            self.deadline = deadline
            self.repeats = repeats
            self.continuation = Lock(continuation)
        }

        /// - Returns: whether the caller was still there.
        @discardableResult
        func answer(_ result: Result<KeyRecordOutcome, any Error>) -> Bool {
            guard let caller = continuation.withLock({ $0.take() }) else { return false }
            caller.resume(with: result)
            return true
        }
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The batch that is being written.
        var underWay: [Waiting] = []
        var flushes: [CheckedContinuation<Void, Never>] = []
        /// Whether somebody waits for an outcome, or the time of the other changes is up.
        var mustWrite = false
        var isWriting = false
        var isTimerSet = false
        var isWatching = false
        var batches = 0
    }

    /// The longest time until a change without a caller is written.
    private static let patience = DispatchTimeInterval.milliseconds(20)
    /// The time until the next try after the store refused.
    private static let retryDelay = DispatchTimeInterval.seconds(1)
    /// The time between two looks at the deadlines.
    private static let watchDelay = DispatchTimeInterval.milliseconds(250)
    /// The number of repeats, one each second, to settle a charge whose answer was lost. TCP may deliver the charge so
    /// long after its connection broke.
    private static let settlingRepeats = 120
    /// The most changes without a caller that are kept while the store refuses.
    private static let maxUnawaited = 10_000

    private let store: any KeyRecordStore
    private let number: Int
    private let queue: any WriterQueue
    private let executor: WriterExecutor
    private let metrics: KeyServiceMetrics?
    private let state = Lock(State())

    init(store: any KeyRecordStore, number: Int, queue: any WriterQueue, metrics: KeyServiceMetrics? = nil) {
        self.store = store
        self.number = number
        self.queue = queue
        executor = WriterExecutor(queue)
        self.metrics = metrics
    }

    /// See ``GroupCommit/commit(_:deadline:)``.
    func commit(_ change: KeyRecordChange, deadline: ContinuousClock.Instant) async throws -> KeyRecordOutcome {
        try await withCheckedThrowingContinuation { continuation in
            let (mustStart, mustWatch) = state.withLock { state in
                state.waiting.append(Waiting(change, deadline: deadline, repeats: 0, continuation))
                state.mustWrite = true
                defer { (state.isWriting, state.isWatching) = (true, true) }
                return (!state.isWriting, !state.isWatching)
            }
            if mustStart { start() }
            if mustWatch { watch() }
        }
    }

    /// See ``GroupCommit/commitSoon(_:)``.
    func commitSoon(_ change: KeyRecordChange) {
        soon(Waiting(change))
    }

    private func soon(_ waiting: Waiting) {
        let mustSetTimer = state.withLock { state in
            state.waiting.append(waiting)
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSetTimer { setTimer(Self.patience) }
    }

    /// Returns when all earlier changes are durable, or the store has refused them.
    func flush() async {
        await withCheckedContinuation { continuation in
            let mustStart = state.withLock { state in
                state.flushes.append(continuation)
                state.mustWrite = true
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { start() }
        }
    }

    /// The number of batches so far.
    var batches: Int { state.withLock { $0.batches } }

    private func start() {
        Task(executorPreference: executor) { await self.write() }
    }

    private func setTimer(_ delay: DispatchTimeInterval) {
        // Weak, so that a broken store does not outlive its application.
        queue.run(after: delay) { [weak self] in
            guard let self else { return }
            let mustStart = self.state.withLock { state in
                state.isTimerSet = false
                state.mustWrite = true
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { self.start() }
        }
    }

    /// Writes until nobody waits for an outcome.
    private func write() async {
        while let (batch, flushes) = takeBatch() {
            if !batch.isEmpty { await write(batch) }
            for flush in flushes { flush.resume() }
        }
    }

    private func takeBatch() -> (batch: [Waiting], flushes: [CheckedContinuation<Void, Never>])? {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard state.mustWrite else {
                state.isWriting = false
                return nil
            }
            state.mustWrite = false
            // A caller whose time is up gets "busy". So its change must not happen.
            state.underWay = state.waiting.filter { $0.deadline.map { now < $0 } ?? true }
            let isLate = state.underWay.count < state.waiting.count
            let late = isLate ? state.waiting.filter { $0.deadline.map { now >= $0 } ?? false } : []
            for waiting in late { waiting.answer(.failure(KeyServiceServerError.busy)) }
            state.waiting.removeAll(keepingCapacity: true)
            defer { state.flushes.removeAll() }
            return (state.underWay, state.flushes)
        }
    }

    private func write(_ batch: [Waiting]) async {
        let deadline = batch.lazy.compactMap(\.deadline).max() ?? .now + GroupCommit.settlingTime
        let start = ContinuousClock.now
        var results = await store.commit(batch.map(\.change), lane: number, deadline: deadline)
        metrics?.committed(changes: batch.count, duration: start.duration(to: .now))
        if results.count != batch.count {
            let error = KeyServiceServerError(.storeUnusable, "The store lost an answer.")
            results = batch.map { _ in .failure(error) }
        }
        state.withLock { state in
            state.underWay.removeAll()
            state.batches += 1
        }
        var refused: [Waiting] = []
        for (waiting, result) in zip(batch, results) {
            let hasCaller = waiting.answer(result.mapError { $0 })
            switch (waiting.change, result) {
            case (.charge(let keyID, let ticket, _), .failure(let error)) where error.isOutcomeUnknown:
                // Perhaps the charge happened, and only its answer was lost.
                let settling = KeyRecordChange.settle(
                    KeyReference(id: keyID), ticket: ticket, .unused(lastWrongAt: nil))
                soon(Waiting(settling, repeats: Self.settlingRepeats))
            case (.settle, .success(.superseded)) where waiting.repeats > 0:
                // Perhaps the charge itself is still on its way through a broken network.
                refused.append(Waiting(waiting.change, repeats: waiting.repeats - 1))
            case (.charge(_, let ticket, _), .success(.found(let found))) where !hasCaller:
                commitSoon(
                    .settle(found.reference, ticket: ticket, .unused(lastWrongAt: found.count.lastWrongAt)))
            case (.settle, .failure) where waiting.deadline == nil: refused.append(waiting)
            default: break
            }
        }
        keep(refused)
    }

    /// A right guess must not stay charged because the store was busy for a moment.
    private func keep(_ refused: [Waiting]) {
        guard !refused.isEmpty else { return }
        let mustSetTimer = state.withLock { state in
            state.waiting.insert(contentsOf: refused.suffix(Self.maxUnawaited), at: 0)
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSetTimer { setTimer(Self.retryDelay) }
    }

    /// Answers callers whose time is up, while the store hangs.
    private func watch() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.watchDelay) { [weak self] in
            guard let self else { return }
            let now = ContinuousClock.now
            let (late, mustWatch) = self.state.withLock { state in
                let late = (state.waiting + state.underWay).filter { $0.deadline.map { now >= $0 } ?? false }
                state.waiting.removeAll { $0.deadline.map { now >= $0 } ?? false }
                state.isWatching = (state.waiting + state.underWay).contains { $0.deadline != nil }
                return (late, state.isWatching)
            }
            for waiting in late { waiting.answer(.failure(KeyServiceServerError.busy)) }
            if mustWatch { self.watch() }
        }
    }
}
