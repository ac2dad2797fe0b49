/// A monitor for the time since the last activity. The app tells of each key, click or card.
public final class IdleMonitor: BackgroundMonitor {
    private let monitor = AppBackgroundMonitor()

    /// Makes a monitor whose last activity was now.
    public init() { monitor.enterBackground() }

    /// Says that the person did something. It may be called as often as one likes, on any thread.
    public func noteActivity() {
        monitor.leaveBackground()
        monitor.enterBackground()
    }

    /// Begins to listen. `entered` begins a time without activity, so the first change comes at once. Each activity is
    /// `left` and then `entered` again.
    ///
    /// - Returns: the changes from now on. The stream does not end by itself.
    public func changes() -> AsyncStream<BackgroundChange> { monitor.changes() }

    /// Says that the app itself tells of activity.
    public func status() async -> MonitorStatus { MonitorStatus(source: "app", events: ["no activity"]) }
}
