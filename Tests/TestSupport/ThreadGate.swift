internal import Foundation

/// A gate that is closed at first. Threads wait at the gate until it opens.
package final class ThreadGate: @unchecked Sendable {
    // Sound because the condition guards the flag.
    private let condition = NSCondition()
    private var isOpen = false
    private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

    package init() {}

    package func open() {
        condition.withLock {
            isOpen = true
            condition.broadcast()
        }
        continuation.finish()
    }

    package func pass() {
        condition.withLock {
            while !isOpen { condition.wait() }
        }
    }

    /// Waits as ``pass()`` does, without holding a thread. For one task at a time.
    package func opened() async {
        for await _ in stream {}
    }
}
