internal import Dispatch
internal import Foundation
internal import Synchronization
internal import VaultLocks

/// Where the signal handler finds what to wake up. Set before the handler is installed, and never changed again.
private let wakeUp = Atomic<Int32>(-1)

private func noteStopSignal(_: Int32) {
    EventDescriptor.signal(wakeUp.load(ordering: .relaxed))
}

/// The process's handling of SIGTSTP while somebody listens for it.
///
/// A handler and a thread of our own: a Dispatch source would keep the signal for good, and block nearly all signals in
/// whichever thread gets it.
final class StopSignals: Sendable {
    /// One for the process, as its signal handlers are.
    static let shared = StopSignals()

    private struct State {
        var listeners: [BackgroundListener] = []
        /// How the signal was handled before. nil while our handler is not installed.
        var before: sigaction?
        var isStopping = false
        var hasThread = false
    }

    private let state = Lock(State())
    /// How long a listener may keep the person from stopping the program.
    private static let patience = DispatchTimeInterval.seconds(1)

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

    /// Puts back what was there before, if it was not put back yet. False when that is not for us to do: somebody has
    /// since put a handler over ours.
    private func uninstall(_ state: inout State) -> Bool {
        guard var before = state.before else { return true }
        state.before = nil
        var current = sigaction()
        guard sigaction(SIGTSTP, nil, &current) == 0, Self.handler(current) == Self.ours else { return false }
        return sigaction(SIGTSTP, &before, nil) == 0
    }

    /// Whether the program is never stopped by the signal, and hears nothing of it.
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
                // Signals that came meanwhile are dropped, as the kernel drops a stop that SIGCONT overtakes.
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
        _ = taken.wait(timeout: .now() + Self.patience)
    }

    /// Does what the signal would have done without us. When that stops the process, this returns after SIGCONT.
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
