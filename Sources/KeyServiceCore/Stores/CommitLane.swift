internal import Dispatch
internal import VaultBase

/// The writer of some of the keys. All updates that wait at the end of a transaction go into the next one, so many
/// requests share one fsync.
final class CommitLane: Sendable {
    /// What a lane does for its callers.
    enum Work: Sendable {
        /// Updates a key.
        ///
        /// - undoing: takes the update back if nobody learned of it; nil if it stays. It throws
        ///   ``CommitLane/NothingToUndo`` if the update has not happened.
        case update(KeyUpdate, undoing: KeyUpdate? = nil)
        /// Checks in, and hands the state over.
        case checkIn(ServerCheckIn, @Sendable (StoreState) -> Void)
    }

    /// The update to take back has not happened. Perhaps it is still on its way through a broken network.
    struct NothingToUndo: Error {}

    private typealias Waiting = CommitQueue.Waiting

    /// The longest time until an update without a caller is written.
    private static let timeout = DispatchTimeInterval.milliseconds(20)
    /// The time until the next try after the store refused.
    private static let retryDelay = DispatchTimeInterval.seconds(1)
    /// The time in which an update to take back may still arrive. TCP may deliver it so long after its connection
    /// broke.
    private static let undoTime = Duration.seconds(120)

    private let store: any KeyRecordStore
    private let number: Int
    private let queue: any WriterQueue
    private let executor: WriterExecutor
    private let observer: (any KeyServiceObserver)?
    private let callers = Lock(CommitQueue())
    private let timer = DeadlineTimer()

    init(store: any KeyRecordStore, number: Int, queue: any WriterQueue, observer: (any KeyServiceObserver)? = nil) {
        self.store = store
        self.number = number
        self.queue = queue
        executor = WriterExecutor(queue)
        self.observer = observer
    }

    /// Does the work and returns when it is durable.
    func commit(_ work: Work, deadline: ContinuousClock.Instant) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let mustStart = callers.withLock { $0.add(Waiting(work, deadline: deadline, continuation)) }
            if mustStart { start() }
            // Weak, so that a store that hangs does not outlive its application.
            timer.set(deadline) { [weak self] in self?.refuseLate() }
        }
    }

    /// Carries out an update before all later ones, but makes it durable only with the next transaction.
    func commitSoon(_ update: KeyUpdate) {
        soon(Waiting(.update(update)))
    }

    private func soon(_ waiting: Waiting) {
        if callers.withLock({ $0.addSoon(waiting) }) { setTimer() }
    }

    /// Returns when all earlier updates are durable, or the store has refused them.
    func flush() async {
        await withCheckedContinuation { continuation in
            if callers.withLock({ $0.add(flush: continuation) }) { start() }
        }
    }

    /// The number of batches of updates so far.
    var batches: Int { callers.withLock { $0.batches } }

    private func start() {
        Task(executorPreference: executor) { await self.write() }
    }

    private func setTimer() {
        // Weak, so that a broken store does not outlive its application.
        queue.run(after: Self.timeout) { [weak self] in
            guard let self else { return }
            if self.callers.withLock({ $0.timerIsUp() }) { self.start() }
        }
    }

    /// Writes until nobody waits for an outcome.
    private func write() async {
        while let (batch, flushes) = callers.withLock({ $0.takeBatch() }) {
            if !batch.isEmpty { await write(batch) }
            for flush in flushes { flush.resume() }
        }
    }

    private func write(_ batch: [Waiting]) async {
        let deadline = batch.lazy.compactMap(\.deadline).max() ?? .now + GroupCommit.settlingTime
        let updates = batch.compactMap { if case .update(let update, _) = $0.work { update } else { nil } }
        var outcomes: [Result<Void, any Error>] = []
        if !updates.isEmpty {
            let start = ContinuousClock.now
            outcomes = await store.commit(updates, lane: number, deadline: deadline)
            observer?.committed(changes: updates.count, duration: start.duration(to: .now))
        }
        var next = outcomes.makeIterator()
        var results: [Result<Void, any Error>] = []
        for waiting in batch {
            switch waiting.work {
            case .update:
                results.append(
                    next.next() ?? .failure(KeyServiceServerError(.storeUnusable, "The store lost an answer.")))
            case .checkIn(let server, let receive): results.append(await checkIn(server, deadline: deadline, receive))
            }
        }
        callers.withLock { $0.endBatch(hadUpdates: !updates.isEmpty) }
        answer(batch, results)
    }

    private func checkIn(
        _ server: ServerCheckIn, deadline: ContinuousClock.Instant, _ receive: @Sendable (StoreState) -> Void
    ) async -> Result<Void, any Error> {
        do {
            receive(try await store.checkIn(server, deadline: deadline))
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func answer(_ batch: [Waiting], _ results: [Result<Void, any Error>]) {
        var refused: [Waiting] = []
        for (waiting, result) in zip(batch, results) {
            let hasCaller = waiting.answer(result)
            guard case .update(_, let undo) = waiting.work else { continue }
            let isUnknown: Bool
            switch result {
            case .success: isUnknown = !hasCaller
            case .failure(let error): isUnknown = (error as? KeyServiceServerError)?.isOutcomeUnknown == true
            }
            // Nobody learned of the update. Perhaps it happened, and only its answer was lost.
            if isUnknown, let undo { soon(Waiting(.update(undo))) }
            if waiting.deadline == nil, case .failure(let error) = result {
                guard error is NothingToUndo else {
                    refused.append(waiting)
                    continue
                }
                let end = waiting.undoEnd ?? .now + Self.undoTime
                if .now < end { refused.append(Waiting(waiting.work, undoEnd: end)) }
            }
        }
        keep(refused)
    }

    /// A right guess must not stay charged because the store was busy for a moment.
    private func keep(_ refused: [Waiting]) {
        guard !refused.isEmpty else { return }
        if callers.withLock({ $0.keep(refused) }) { setRetryTimer() }
    }

    private func setRetryTimer() {
        queue.run(after: Self.retryDelay) { [weak self] in
            guard let self else { return }
            let (mustStart, mustSetTimer) = self.callers.withLock { $0.retry() }
            if mustStart { self.start() }
            if mustSetTimer { self.setRetryTimer() }
        }
    }

    /// Answers callers whose time is up, while the store hangs. Returns the first deadline of the others.
    private func refuseLate() -> ContinuousClock.Instant? {
        let (late, next) = callers.withLock { $0.takeLate() }
        for waiting in late { waiting.answer(.failure(KeyServiceServerError.busy)) }
        return next
    }
}
