/// A monitor for a program in a terminal. The program is in the background from Ctrl-Z (SIGTSTP) until the shell
/// continues it (SIGCONT).
///
/// While there is a listener, the program handles SIGTSTP. It tells the listeners and waits for them, for up to a
/// second. Then it stops by its former handler, or by the kernel. After the last listener, the former handler is back.
/// A program that was started with SIGTSTP ignored gets no events. A stop by SIGSTOP cannot be noticed.
public struct StopSignalMonitor: BackgroundMonitor {
    /// Makes a monitor. All of them notice the same, as signals go to the whole process.
    public init() {}

    /// Begins to listen for SIGTSTP and SIGCONT.
    ///
    /// - Returns: the changes from now on. The stream ends at once when the process has no file descriptor left.
    public func changes() -> AsyncStream<BackgroundChange> { StopSignals.shared.changes() }

    /// Tells whether Ctrl-Z is noticed. It is not when this program was started so that it ignores SIGTSTP.
    public func status() async -> MonitorStatus {
        StopSignals.areIgnored
            ? MonitorStatus(
                source: "terminal", events: [],
                problem: MonitorStatus.Problem(.stopIgnored, "This program was started with Ctrl-Z ignored."))
            : MonitorStatus(source: "terminal", events: [.stop])
    }
}
