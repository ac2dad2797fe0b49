import Dispatch
import VaultBase

/// A small world of processes. The explorer guesses every order of events in it, or the order of a seed.
///
/// Each run starts from the beginning. A world must not keep anything from an earlier run, and must not use a clock or
/// random decisions of its own.
protocol World: Sendable {
    /// The number of processes.
    var processes: Int { get }
    /// Whether a crash ends all processes at once, as a crash of a server does.
    var crashTakesAll: Bool { get }
    /// Whether the code starts tasks of its own, which run on other threads than the explorer's. The explorer then
    /// waits until each process waits. It does not wait for a task that works beside another task of the same process.
    var worksElsewhere: Bool { get }
    /// The work of a process, from its start. Called again after a crash.
    func live(_ life: Life) async
    /// Called right after processes crashed, before any other process acts.
    func ended(_ lives: [Life])
    /// Called when all processes are done.
    func judge(_ run: Run) async
}

extension World {
    var worksElsewhere: Bool { false }
}

/// One life of a process: from its start to its end or to a crash.
final class Life: Sendable {
    struct Crashed: Error {}

    let process: Int
    let run: Run
    private let alive = Lock(true)
    private let cancellation = Lock<(stepsLeft: Int, cancel: @Sendable () -> Void)?>(nil)

    init(_ process: Int, _ run: Run) {
        self.process = process
        self.run = run
    }

    var isAlive: Bool { alive.withLock { $0 } }
    func end() { alive.withLock { $0 = false } }

    /// Comes before every step that others can notice. Here the others may act first, or this life may end.
    ///
    /// - Parameter isReady: the condition for going on.
    /// - Returns: false if a time limit is over, because everybody waits and nothing else can happen.
    @discardableResult
    func step(_ name: String, when isReady: @escaping @Sendable () -> Bool = { true }) async throws -> Bool {
        guard isAlive else { throw Crashed() }
        countForCancellation()
        return try await withCheckedThrowingContinuation { run.wait(self, name, isReady, $0) }
    }

    /// Calls `cancel` at a later step.
    ///
    /// - Parameter count: the number of steps before it; nil for never.
    func cancel(after count: Int?, _ cancel: @escaping @Sendable () -> Void = {}) {
        cancellation.withLock { $0 = count.map { ($0, cancel) } }
    }

    private func countForCancellation() {
        let cancel = cancellation.withLock { cancellation in
            cancellation?.stepsLeft -= 1
            return cancellation.flatMap { $0.stepsLeft < 0 ? $0.cancel : nil }
        }
        cancel?()
    }
}

/// Runs tasks on the explorer's thread, so the explorer knows when all of them wait.
final class Turns: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])
    private let changes = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        changes.signal()
    }

    /// Tells the explorer's thread to look again.
    func wake() { changes.signal() }

    /// Runs until no work is left.
    func drain() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Runs until `isDone` is true. The work that is left may be on other threads.
    func run(until isDone: () -> Bool) {
        while true {
            drain()
            if isDone() { return }
            changes.wait()
        }
    }
}
