internal import VaultBase

/// A listener of a monitor, with the changes that it has not read yet.
///
/// It reports when a change was *taken*: when the listener has finished with the change and asks for the next. A
/// process waits for that before it stops, as later work may come much later.
package final class BackgroundListener: Sendable {
    private struct Told {
        let change: BackgroundChange
        var whenTaken: [@Sendable () -> Void] = []
    }

    private struct State {
        var waiting: [Told] = []
        /// The changes at the listener, which may still be busy with them.
        var givenOut: [Told] = []
        var asking: [CheckedContinuation<BackgroundChange?, Never>] = []
        var hasEnded = false

        /// Returns the next possible step, to run outside the lock.
        mutating func nextStep() -> (@Sendable () -> Void)? {
            if hasEnded {
                if let told = givenOut.popLast() ?? waiting.popLast() {
                    return { for action in told.whenTaken { action() } }
                }
                guard let asking = asking.popLast() else { return nil }
                return { asking.resume(returning: nil) }
            }
            guard !waiting.isEmpty, !asking.isEmpty else { return nil }
            let (told, asking) = (waiting.removeFirst(), asking.removeFirst())
            givenOut.append(told)
            return { asking.resume(returning: told.change) }
        }
    }

    /// Ends the listening when its stream is dropped.
    private final class Lifetime: Sendable {
        let listener: BackgroundListener

        init(_ listener: BackgroundListener) { self.listener = listener }

        deinit { listener.end() }
    }

    private let state = Lock(State())
    private let onEnd: @Sendable () -> Void

    private init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    /// Makes a stream, and the listener that feeds it.
    ///
    /// - Parameter onEnd: called once, on any thread, when the listening ends.
    package static func make(
        onEnd: @escaping @Sendable () -> Void = {}
    ) -> (stream: AsyncStream<BackgroundChange>, listener: BackgroundListener) {
        let listener = BackgroundListener(onEnd: onEnd)
        let lifetime = Lifetime(listener)
        let stream = AsyncStream(unfolding: { await lifetime.listener.next() }, onCancel: { listener.end() })
        return (stream, listener)
    }

    package var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Queues a change.
    package func tell(_ change: BackgroundChange) {
        state.withLock { $0.waiting.append(Told(change: change)) }
        work()
    }

    /// Calls `action` once, on any thread, when the listener has taken all changes, or is gone.
    package func whenTaken(_ action: @escaping @Sendable () -> Void) {
        let isTaken = state.withLock { state in
            if state.hasEnded { return true }
            if let last = state.waiting.indices.last {
                state.waiting[last].whenTaken.append(action)
            } else if let last = state.givenOut.indices.last {
                state.givenOut[last].whenTaken.append(action)
            } else {
                return true
            }
            return false
        }
        if isTaken { action() }
    }

    /// Ends the stream. No more changes are told.
    package func end() {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        work()
        if isFirst { onEnd() }
    }

    private func next() async -> BackgroundChange? {
        await withCheckedContinuation { continuation in
            let taken = state.withLock { state in
                state.asking.append(continuation)
                defer { state.givenOut = [] }
                return state.givenOut
            }
            for action in taken.flatMap(\.whenTaken) { action() }
            work()
        }
    }

    private func work() {
        while let step = state.withLock({ $0.nextStep() }) { step() }
    }
}
