internal import Foundation

/// A thread for calls that block: it runs one after another, and ends when nobody holds this any more and all is done.
///
/// The parts of one operation share it. A library keeps much for each thread that it has seen, and makes it anew for a new
/// one. A call that hangs keeps the thread, and what comes after it waits for ever.
package final class HardwareThread: Sendable {
    private let queue = Queue()

    package init() {}

    deinit { queue.end() }

    /// Runs `call` when those before it are done. It does not wait for that.
    package func run(_ call: @escaping @Sendable () -> Void) {
        guard queue.add(call) else { return }
        Thread.detachNewThread { @Sendable [queue] in
            while let call = queue.next() { call() }
        }
    }

    private final class Queue: @unchecked Sendable {
        // Sound because the condition guards the rest.
        private let condition = NSCondition()
        private var calls: [@Sendable () -> Void] = []
        private var isStarted = false
        private var isEnded = false

        /// - Returns: whether the thread has to be started.
        func add(_ call: @escaping @Sendable () -> Void) -> Bool {
            condition.lock()
            defer { condition.unlock() }
            calls.append(call)
            condition.signal()
            defer { isStarted = true }
            return !isStarted
        }

        /// Waits for the next call.
        ///
        /// - Returns: nil when there will be none.
        func next() -> (@Sendable () -> Void)? {
            condition.lock()
            defer { condition.unlock() }
            while calls.isEmpty && !isEnded { condition.wait() }
            return calls.isEmpty ? nil : calls.removeFirst()
        }

        func end() {
            condition.lock()
            isEnded = true
            condition.signal()
            condition.unlock()
        }
    }
}
