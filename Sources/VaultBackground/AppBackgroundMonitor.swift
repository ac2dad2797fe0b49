internal import VaultBase

/// A monitor for an app that knows itself when it goes to the background, for example with its last window.
public final class AppBackgroundMonitor: BackgroundMonitor {
    private struct State {
        var isInBackground = false
        var listeners: [BackgroundListener] = []
    }

    private let state = Lock(State())

    /// Makes a monitor of an app that is in the foreground.
    public init() {}

    /// Notes that the app is in the background now. Another call changes nothing.
    public func enterBackground() { change(to: true) }

    /// Notes that the app is in the foreground again.
    public func leaveBackground() { change(to: false) }

    /// Begins to listen. An app that is in the background now is told as `entered` at once.
    ///
    /// - Returns: the changes from now on. The stream does not end by itself.
    public func changes() -> AsyncStream<BackgroundChange> {
        let (stream, listener) = BackgroundListener.make()
        state.withLock { state in
            state.listeners.removeAll { $0.hasEnded }
            state.listeners.append(listener)
            if state.isInBackground { listener.tell(.entered) }
        }
        return stream
    }

    /// Returns the status: the app itself reports changes.
    public func status() async -> MonitorStatus { MonitorStatus(source: "app", events: [.background]) }

    private func change(to isInBackground: Bool) {
        // The lock is held during the notice, so all listeners get concurrent changes in the same order.
        state.withLock { state in
            guard state.isInBackground != isInBackground else { return }
            state.isInBackground = isInBackground
            for listener in state.listeners { listener.tell(isInBackground ? .entered : .left) }
        }
    }
}
