internal import Dispatch

/// The only writer of the store: one ``CommitLane`` for each of the store's lanes. All changes to one key take the same
/// lane, so they take effect in the order of the calls.
final class GroupCommit: Sendable {
    /// The longest wait for the settling of a guess, also after the client's own deadline.
    static let settlingTime = Duration.seconds(10)

    private let lanes: [CommitLane]

    /// - Parameter queue: the queue of the writers in tests; nil for one thread per lane.
    init(store: any KeyRecordStore, queue: (any WriterQueue)? = nil, metrics: KeyServiceMetrics? = nil) {
        lanes = (0..<max(1, store.lanes)).map { number in
            CommitLane(
                store: store, number: number,
                queue: queue
                    ?? DispatchQueue(label: "credential-vault.key-service.writer-\(number)", qos: .userInitiated),
                metrics: metrics)
        }
    }

    /// Carries out a change and returns when it is durable. Cancellation does not stop it.
    ///
    /// - Parameter deadline: the latest start of the change. A change that has not begun by then never happens. A
    ///   charge that succeeds later is taken back.
    /// - Throws: ``KeyServiceServerError`` with code `busy` at the deadline, or the store's error.
    func commit(_ change: KeyRecordChange, deadline: ContinuousClock.Instant) async throws -> KeyRecordOutcome {
        try await lane(change).commit(change, deadline: deadline)
    }

    /// Carries out a change before all later ones, but makes it durable only with the next transaction.
    func commitSoon(_ change: KeyRecordChange) {
        lane(change).commitSoon(change)
    }

    /// Returns when all earlier changes are durable, or the store has refused them.
    func flush() async {
        await withTaskGroup(of: Void.self) { group in
            for lane in lanes { group.addTask { await lane.flush() } }
        }
    }

    /// The number of batches so far.
    var batches: Int { lanes.reduce(0) { $0 + $1.batches } }

    private func lane(_ change: KeyRecordChange) -> CommitLane {
        guard lanes.count > 1, let keyID = change.keyID else { return lanes[0] }
        return lanes[Int(keyID.hashValue.magnitude % UInt(lanes.count))]
    }
}

extension KeyRecordChange {
    /// The key that is changed.
    fileprivate var keyID: String? {
        switch self {
        case .insert(let record), .reseal(let record, _): record.id
        case .find(let keyID), .charge(let keyID, _, _), .update(let keyID, _): keyID
        case .settle(let reference, _, _), .noteUse(let reference, _): reference.id
        case .checkIn: nil
        }
    }
}

/// The queue of a writer. It runs one piece of work at a time, on a thread that may block.
protocol WriterQueue: Sendable {
    /// Runs `work` after all earlier work, or after a delay.
    func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: WriterQueue {
    func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void) {
        if let delay { asyncAfter(deadline: .now() + delay, execute: work) } else { async(execute: work) }
    }
}

/// Runs the tasks of a writer on its queue, so that a store may block there.
final class WriterExecutor: TaskExecutor {
    private let queue: any WriterQueue

    init(_ queue: any WriterQueue) {
        self.queue = queue
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.run(after: nil) { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
