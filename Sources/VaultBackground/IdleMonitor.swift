/// A monitor for the time since the last activity. The app reports each key press, click or card.
public final class IdleMonitor: BackgroundMonitor {
    private let monitor = AppBackgroundMonitor()

    /// Makes a monitor with a last activity now.
    public init() { monitor.enterBackground() }

    /// Notes an activity of the person. Call it as often as you like, on any thread.
    public func noteActivity() {
        monitor.leaveBackground()
        monitor.enterBackground()
    }

    /// Begins to listen. `entered` begins a time without activity, so the first change comes at once. Each activity is
    /// `left` and then `entered` again.
    ///
    /// - Returns: the changes from now on. The stream does not end by itself.
    public func changes() -> AsyncStream<BackgroundChange> { monitor.changes() }

    /// Returns the status: the app itself reports activity.
    public func status() async -> MonitorStatus { MonitorStatus(source: "app", events: [.noActivity]) }
}
