/// A monitor for a program in a terminal: it is in the background while it is stopped, by Ctrl-Z (SIGTSTP), until the
/// shell lets it go on (SIGCONT).
///
/// While somebody listens the program handles SIGTSTP: it tells, gives the listeners up to a second, and then stops as
/// it would have without, by the handler that was there before or else by the kernel. When nobody listens any more that
/// handler is back. A program that was started with SIGTSTP ignored is never stopped by it, and hears nothing. Being
/// stopped by SIGSTOP cannot be noticed.
public struct StopSignalMonitor: BackgroundMonitor {
    /// Makes a monitor. Signals are the business of the whole process, so all of these notice the same.
    public init() {}

    /// Begins to listen for SIGTSTP and SIGCONT.
    ///
    /// - Returns: the changes from now on. The stream ends at once when the process has no file descriptor left.
    public func changes() -> AsyncStream<BackgroundChange> { StopSignals.shared.changes() }

    /// Tells whether Ctrl-Z is noticed. It is not when this program was started so that it ignores SIGTSTP.
    public func status() async -> MonitorStatus {
        StopSignals.areIgnored
            ? MonitorStatus(
                source: "terminal", events: [], problem: "This program was started so that Ctrl-Z is ignored.")
            : MonitorStatus(source: "terminal", events: ["Ctrl-Z"])
    }
}
