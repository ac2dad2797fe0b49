/// A change of the person's presence at the app.
@nonexhaustive
public enum BackgroundChange: Sendable {
    /// The person left the app: it is in the background, stopped, asleep, or behind a locked screen.
    case entered
    /// The person is back.
    case left
}

/// A monitor that notices when an app goes to the background and comes back.
///
/// There may be no listener or several, and a listener may read late. The process may be stopped or asleep between
/// `entered` and `left`. If possible, a conformer lets its listeners read `entered` before the stop, as they count the
/// time from then on. A listener that comes while the app is in the background gets `entered` first. The same change
/// may come twice in a row.
public protocol BackgroundMonitor: Sendable {
    /// Returns the changes from now on, for one listener, in order.
    ///
    /// The stream ends only if the monitor will notice nothing more. To end the listening, drop the stream, or cancel
    /// the task that waits for it.
    func changes() -> AsyncStream<BackgroundChange>

    /// Returns the present state of the monitor. The default has only the type's name.
    func status() async -> MonitorStatus
}

extension BackgroundMonitor {
    /// Returns the name of the type, for a monitor without its own status.
    public func status() async -> MonitorStatus { MonitorStatus(source: "\(Self.self)", events: [.other]) }
}
