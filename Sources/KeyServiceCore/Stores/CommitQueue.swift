internal import VaultBase

/// The callers of a ``CommitLane``, and what the lane does for them at the moment. The lane guards it with a lock.
struct CommitQueue {
    /// Work with its caller, if there is one. The caller gets one answer: the outcome, or "busy" at the deadline.
    final class Waiting: Sendable {
        let work: CommitLane.Work
        /// The latest start; nil for work without a caller, which is repeated until it succeeds.
        let deadline: ContinuousClock.Instant?
        /// The end of the repeats, from the first time when there was nothing to undo; nil before that time.
        let undoEnd: ContinuousClock.Instant?
        private let continuation: Lock<CheckedContinuation<Void, any Error>?>

        init(
            _ work: CommitLane.Work, deadline: ContinuousClock.Instant? = nil,
            undoEnd: ContinuousClock.Instant? = nil, _ continuation: CheckedContinuation<Void, any Error>? = nil
        ) {
            self.work = work
            self.deadline = deadline
            self.undoEnd = undoEnd
            self.continuation = Lock(continuation)
        }

        @discardableResult
        func answer(_ result: Result<Void, any Error>) -> Bool {
            guard let caller = continuation.withLock({ $0.take() }) else { return false }
            caller.resume(with: result)
            return true
        }

        func isLate(at now: ContinuousClock.Instant) -> Bool { deadline.map { now >= $0 } ?? false }
    }

    /// The most updates without a caller that are kept while the store refuses, and that are tried again at a time.
    private static let (maxRefused, maxRetried) = (10_000, 500)

    private var waiting: [Waiting] = []
    /// Work without a caller that failed. It is tried again at the next tick of its own timer, because each batch for
    /// callers must stay small.
    private var refused: [Waiting] = []
    private var isRetryTimerSet = false
    /// The batch that is being written.
    private var underWay: [Waiting] = []
    private var flushes: [CheckedContinuation<Void, Never>] = []
    /// Whether somebody waits for an outcome, or the time of the other updates is up.
    private var mustWrite = false
    private var isWriting = false
    private var isTimerSet = false
    private(set) var batches = 0

    // MARK: - Adding

    /// Adds work whose caller waits.
    ///
    /// - Returns: whether the caller must start the writer.
    mutating func add(_ new: Waiting) -> Bool {
        waiting.append(new)
        return wantsWriter()
    }

    /// Adds work that can wait for the timer.
    ///
    /// - Returns: whether the caller must set the timer.
    mutating func addSoon(_ new: Waiting) -> Bool {
        waiting.append(new)
        defer { isTimerSet = true }
        return !isTimerSet
    }

    /// Adds a caller who waits for all work so far.
    ///
    /// - Returns: whether the caller must start the writer.
    mutating func add(flush: CheckedContinuation<Void, Never>) -> Bool {
        waiting.insert(contentsOf: refused, at: 0)
        refused.removeAll()
        flushes.append(flush)
        return wantsWriter()
    }

    /// Notes that the timer of ``addSoon(_:)`` is up.
    ///
    /// - Returns: whether the caller must start the writer.
    mutating func timerIsUp() -> Bool {
        isTimerSet = false
        return wantsWriter()
    }

    private mutating func wantsWriter() -> Bool {
        mustWrite = true
        defer { isWriting = true }
        return !isWriting
    }

    // MARK: - Writing

    /// Returns the next batch, and those who wait for its end; nil if nobody waits for an outcome. Then the writer ends.
    mutating func takeBatch() -> (batch: [Waiting], flushes: [CheckedContinuation<Void, Never>])? {
        let now = ContinuousClock.now
        guard mustWrite else {
            isWriting = false
            return nil
        }
        mustWrite = false
        // A caller whose time is up gets "busy". So its work must not happen.
        underWay = waiting.filter { !$0.isLate(at: now) }
        if underWay.count < waiting.count {
            for late in waiting where late.isLate(at: now) { late.answer(.failure(KeyServiceServerError.busy)) }
        }
        waiting.removeAll(keepingCapacity: true)
        defer { flushes.removeAll() }
        return (underWay, flushes)
    }

    /// Notes the end of the batch.
    mutating func endBatch(hadUpdates: Bool) {
        underWay.removeAll()
        if hadUpdates { batches += 1 }
    }

    /// Takes out the callers whose time is up. Also returns the first deadline of the others.
    mutating func takeLate() -> (late: [Waiting], next: ContinuousClock.Instant?) {
        let now = ContinuousClock.now
        let all = waiting + underWay
        waiting.removeAll { $0.isLate(at: now) }
        return (
            all.filter { $0.isLate(at: now) },
            all.lazy.filter { !$0.isLate(at: now) }.compactMap(\.deadline).min()
        )
    }

    // MARK: - Trying again

    /// Keeps work that the store refused.
    ///
    /// - Returns: whether the caller must set the timer for the next try.
    mutating func keep(_ new: [Waiting]) -> Bool {
        refused = (refused + new).suffix(Self.maxRefused)
        defer { isRetryTimerSet = true }
        return !isRetryTimerSet
    }

    /// Takes up some of the refused work.
    ///
    /// - Returns: whether the caller must start the writer, and whether it must set the timer again.
    mutating func retry() -> (mustStart: Bool, mustSetTimer: Bool) {
        waiting.insert(contentsOf: refused.prefix(Self.maxRetried), at: 0)
        refused.removeFirst(min(Self.maxRetried, refused.count))
        isRetryTimerSet = !refused.isEmpty
        return (wantsWriter(), isRetryTimerSet)
    }
}
