package import Dispatch
internal import VaultBase

/// The only writer of the store: one ``CommitLane`` for each of the store's lanes. All updates of one key take the same
/// lane, so they take effect in the order of the calls.
package final class GroupCommit: Sendable {
    /// The longest wait for the settling of a guess, also after the client's own deadline.
    static let settlingTime = Duration.seconds(10)

    private let lanes: [CommitLane]

    /// - Parameter queue: the queue of the writers in tests; nil for one thread per lane.
    package init(store: any KeyRecordStore, queue: (any WriterQueue)? = nil, observer: (any KeyServiceObserver)? = nil)
    {
        lanes = (0..<max(1, store.lanes)).map { number in
            CommitLane(
                store: store, number: number,
                queue: queue
                    ?? DispatchQueue(label: "credential-vault.key-service.writer-\(number)", qos: .userInitiated),
                observer: observer)
        }
    }

    /// Changes a key durably. Cancellation does not stop it.
    ///
    /// - Parameters:
    ///   - deadline: the latest start of the update. One that has not begun by then never happens.
    ///   - undo: takes the update back if nobody learned of it, because it succeeded after the deadline, or its answer
    ///     was lost. Returns false if the update has not happened. Without it, such an update stays.
    ///   - change: changes the key, and returns a result. If it throws, nothing changes, and its error is thrown here.
    ///     It may be called several times.
    /// - Throws: ``KeyServiceServerError`` with code `busy` at the deadline, or the store's error.
    func update<R: Sendable>(
        _ keyID: String, _ purpose: KeyUpdate.Purpose = .change, deadline: ContinuousClock.Instant,
        undo: (@Sendable (inout StoredKey?) -> Bool)? = nil,
        _ change: @escaping @Sendable (inout StoredKey?, GuessLimits) throws -> R
    ) async throws -> R {
        let last = LastResult<R>()
        let update = KeyUpdate(keyID, purpose) { key, limits in last.set(try change(&key, limits)) }
        let undoing = undo.map { undo in
            KeyUpdate(keyID) { key, _ in if !undo(&key) { throw CommitLane.NothingToUndo() } }
        }
        try await lane(keyID).commit(.update(update, undoing: undoing), deadline: deadline)
        return try last.get()
    }

    /// Changes a key before all later updates of it, but makes the change durable only with the next transaction. If
    /// the store refuses, the change is repeated.
    func updateSoon(_ keyID: String, _ change: @escaping @Sendable (inout StoredKey?) -> Void) {
        lane(keyID).commitSoon(KeyUpdate(keyID) { key, _ in change(&key) })
    }

    /// Writes to the store, and returns its state.
    ///
    /// - Throws: as ``update(_:_:deadline:undo:_:)``.
    func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
        let state = LastResult<StoreState>()
        try await lanes[0].commit(.checkIn(checkIn) { state.set($0) }, deadline: deadline)
        return try state.get()
    }

    /// Returns when all earlier updates are durable, or the store has refused them.
    package func flush() async {
        await withTaskGroup(of: Void.self) { group in
            for lane in lanes { group.addTask { await lane.flush() } }
        }
    }

    /// The number of batches of updates so far.
    var batches: Int { lanes.reduce(0) { $0 + $1.batches } }

    private func lane(_ keyID: String) -> CommitLane {
        lanes.count > 1 ? lanes[Int(keyID.hashValue.magnitude % UInt(lanes.count))] : lanes[0]
    }
}

/// The result of the last run of an update.
private final class LastResult<R: Sendable>: Sendable {
    private let result = Lock<R?>(nil)

    func set(_ new: R) { result.withLock { $0 = new } }

    func get() throws -> R {
        guard let result = result.withLock({ $0 }) else {
            throw KeyServiceServerError(.storeUnusable, "The store lost an answer.")
        }
        return result
    }
}

/// The queue of a writer. It runs one piece of work at a time, on a thread that may block.
package protocol WriterQueue: Sendable {
    /// Runs `work` after all earlier work, or after a delay.
    func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: WriterQueue {
    package func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void) {
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
