internal import KeyServiceCore
internal import NIOCore

/// Runs tasks on the thread of an event loop.
///
/// The requests of a connection run on the thread that reads and writes for it. On Swift's own threads, each request
/// would wait for another thread several times. So a request must not block: the store, Argon2 and the audit log have
/// threads of their own.
final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
