internal import Dispatch
internal import Foundation
internal import Synchronization
internal import VaultBase

/// The event descriptor that the signal handler wakes up. It is set before the handler is installed, and never changes.
private let wakeUp = Atomic<Int32>(-1)

private func noteStopSignal(_: Int32) {
    EventDescriptor.signal(wakeUp.load(ordering: .relaxed))
}

/// The process's handling of SIGTSTP while somebody listens for it.
///
/// It uses its own handler and thread: a Dispatch source would keep the signal for good, and block nearly all signals
/// in its thread.
final class StopSignals: Sendable {
    /// The one object of the process, as signal handlers belong to the process.
    static let shared = StopSignals()

    private struct State {
        var listeners: [BackgroundListener] = []
        /// The former handling of the signal; nil while our handler is not installed.
        var before: sigaction?
        var isStopping = false
        var hasThread = false
    }

    private let state = Lock(State())
    /// The longest time for which a listener may delay the stop.
    private static let timeout = DispatchTimeInterval.seconds(1)

    func changes() -> AsyncStream<BackgroundChange> {
        let (stream, listener) = BackgroundListener.make { [self] in removeEnded() }
        let isHeard = state.withLock { state in
            guard state.hasThread || startThread() else { return false }
            state.hasThread = true
            state.listeners.append(listener)
            if !state.isStopping { install(&state) }
            return true
        }
        if !isHeard { listener.end() }
        return stream
    }

    private func removeEnded() {
        state.withLock { state in
            state.listeners.removeAll { $0.hasEnded }
            if state.listeners.isEmpty { _ = uninstall(&state) }
        }
    }

    // MARK: - The handler

    private func install(_ state: inout State) {
        guard state.before == nil, !state.listeners.isEmpty else { return }
        var before = sigaction()
        guard sigaction(SIGTSTP, nil, &before) == 0, Self.handler(before) != Self.ignore else { return }
        var ours = sigaction()
        ours.__sigaction_handler.sa_handler = noteStopSignal
        ours.sa_flags = SA_RESTART
        guard sigaction(SIGTSTP, &ours, nil) == 0 else { return }
        state.before = before
    }

    /// Restores the former handler, unless it is already back. Returns false if another handler has replaced ours.
    private func uninstall(_ state: inout State) -> Bool {
        guard var before = state.before else { return true }
        state.before = nil
        var current = sigaction()
        guard sigaction(SIGTSTP, nil, &current) == 0, Self.handler(current) == Self.ours else { return false }
        return sigaction(SIGTSTP, &before, nil) == 0
    }

    /// Whether the program ignores the signal.
    static var areIgnored: Bool {
        var current = sigaction()
        return sigaction(SIGTSTP, nil, &current) == 0 && handler(current) == ignore
    }

    private static let ours = unsafeBitCast(noteStopSignal as @convention(c) (Int32) -> Void, to: Int.self)
    private static let ignore = 1

    private static func handler(_ action: sigaction) -> Int {
        action.__sigaction_handler.sa_handler.map { unsafeBitCast($0, to: Int.self) } ?? 0
    }

    // MARK: - The thread

    private func startThread() -> Bool {
        guard let event = EventDescriptor() else { return false }
        wakeUp.store(event.descriptor, ordering: .relaxed)
        Thread.detachNewThread { @Sendable [self] in
            while event.wait() {
                tellEntered()
                stop()
                // Signals from the meantime are dropped, as the kernel drops a stop after SIGCONT.
                event.reset()
                for listener in state.withLock({ $0.listeners }) { listener.tell(.left) }
            }
        }
        return true
    }

    private func tellEntered() {
        let taken = DispatchGroup()
        for listener in state.withLock({ $0.listeners }) {
            taken.enter()
            listener.tell(.entered)
            listener.whenTaken { taken.leave() }
        }
        _ = taken.wait(timeout: .now() + Self.timeout)
    }

    /// Does the signal's former action. If that stops the process, this returns after SIGCONT.
    private func stop() {
        let isAsBefore = state.withLock { state in
            state.isStopping = true
            return uninstall(&state)
        }
        if isAsBefore {
            var signals = sigset_t()
            var before = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGTSTP)
            pthread_sigmask(SIG_UNBLOCK, &signals, &before)
            raise(SIGTSTP)
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        state.withLock { state in
            state.isStopping = false
            install(&state)
        }
    }
}
