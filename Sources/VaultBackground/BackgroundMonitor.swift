/// Whether the person is at the app.
public enum BackgroundChange: Sendable {
    /// The person went away from the app: it is in the background, stopped, asleep, or behind a locked screen.
    case entered
    /// The person is back.
    case left
}

/// Notices when an app goes to the background and when it comes back.
///
/// A conformer must not assume that there is just one listener, or any at all when something happens; that a listener
/// reads at once; or that the process runs between `entered` and `left`: it may be stopped or asleep. Where it can, it
/// lets its listeners read `entered` before that happens, since they count the time from then on. A listener that comes
/// while the app is in the background is told `entered` first. The same change may be told twice in a row.
public protocol BackgroundMonitor: Sendable {
    /// What happens from now on, to one listener, which gets every change in order.
    ///
    /// The stream ends only when nothing will ever be noticed again. Dropping it, or cancelling the task that waits for
    /// it, ends the listening.
    func changes() -> AsyncStream<BackgroundChange>

    /// What it listens to now, and whether it can. Without this function that is the type's name, and nothing more.
    func status() async -> MonitorStatus
}

extension BackgroundMonitor {
    /// Gives the name of the type: for a monitor that has no status of its own.
    public func status() async -> MonitorStatus { MonitorStatus(source: "\(Self.self)", events: ["its own events"]) }
}
