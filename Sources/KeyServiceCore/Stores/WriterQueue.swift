package import Dispatch

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
