internal import Dispatch
internal import VaultLocks

/// The only writer of the store. All changes that wait at the end of a transaction go into the next one, so many
/// requests share one fsync. Changes take effect in the order of the calls.
final class GroupCommit: Sendable {
    private struct Waiting {
        let change: KeyRecordChange
        /// Nil if nobody waits for the outcome.
        let continuation: CheckedContinuation<KeyRecordOutcome, any Error>?
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The number of waiting changes with a caller that waits for the outcome.
        var awaited = 0
        var isWriting = false
        var isTimerSet = false
    }

    /// The longest wait of a change that nobody awaits.
    private static let patience = DispatchTimeInterval.milliseconds(20)
    /// The time until the next try after the store refused.
    private static let retryDelay = DispatchTimeInterval.seconds(1)
    /// The most changes that are kept without a waiting caller while the store refuses.
    private static let maxUnawaited = 10_000

    private let store: any KeyRecordStore
    private let state = Lock(State())
    private let queue: any WriterQueue

    init(
        store: any KeyRecordStore,
        queue: any WriterQueue = DispatchQueue(label: "credential-vault.key-service.writer", qos: .userInitiated)
    ) {
        self.store = store
        self.queue = queue
    }

    /// Carries out a change and returns when it is durable. Cancellation does not stop it.
    func commit(_ change: KeyRecordChange) async throws -> KeyRecordOutcome {
        try await withCheckedThrowingContinuation { continuation in
            let mustStart = state.withLock { state in
                state.waiting.append(Waiting(change: change, continuation: continuation))
                state.awaited += 1
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { queue.run(after: nil) { self.writeAwaited() } }
        }
    }

    /// Carries out a change before all later ones, but makes it durable only with the next transaction.
    func commitSoon(_ change: KeyRecordChange) {
        let mustSetTimer = state.withLock { state in
            state.waiting.append(Waiting(change: change, continuation: nil))
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSetTimer { setTimer(Self.patience) }
    }

    /// Returns when all earlier changes are durable, or the store has refused them.
    func flush() async {
        await withCheckedContinuation { continuation in
            queue.run(after: nil) {
                self.writeBatch()
                continuation.resume()
            }
        }
    }

    private func setTimer(_ delay: DispatchTimeInterval) {
        // Weak, so that a broken store does not outlive its application.
        queue.run(after: delay) { [weak self] in
            guard let self else { return }
            self.state.withLock { $0.isTimerSet = false }
            self.writeBatch()
        }
    }

    /// Writes until nobody waits for an outcome.
    private func writeAwaited() {
        while true {
            let isIdle = state.withLock { state in
                if state.awaited == 0 { state.isWriting = false }
                return state.awaited == 0
            }
            if isIdle { return }
            writeBatch()
        }
    }

    private func writeBatch() {
        let batch = state.withLock { state in
            defer { state.waiting.removeAll(keepingCapacity: true) }
            state.awaited = 0
            return state.waiting
        }
        guard !batch.isEmpty else { return }
        do {
            let outcomes = try store.commit(batch.map(\.change))
            guard outcomes.count == batch.count else {
                throw KeyServiceServerError(.storeUnusable, "The store lost an answer.")
            }
            for (waiting, outcome) in zip(batch, outcomes) { waiting.continuation?.resume(returning: outcome) }
        } catch {
            keepUnawaited(of: batch)
            for waiting in batch { waiting.continuation?.resume(throwing: error) }
        }
    }

    /// A right guess must not stay charged because the store was busy for a moment.
    private func keepUnawaited(of batch: [Waiting]) {
        let unawaited = batch.filter { $0.continuation == nil }
        guard !unawaited.isEmpty else { return }
        let mustSetTimer = state.withLock { state in
            state.waiting.insert(contentsOf: unawaited.suffix(Self.maxUnawaited), at: 0)
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSetTimer { setTimer(Self.retryDelay) }
    }
}

/// The queue of the writer. It runs one piece of work at a time, on a thread that may block.
protocol WriterQueue: Sendable {
    /// Runs `work` after all earlier work, or after a delay.
    func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: WriterQueue {
    func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void) {
        if let delay { asyncAfter(deadline: .now() + delay, execute: work) } else { async(execute: work) }
    }
}
