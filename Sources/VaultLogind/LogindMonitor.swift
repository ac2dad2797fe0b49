internal import Foundation
public import VaultBackground
internal import VaultBase
internal import VaultDBus

/// A monitor for an app on a desktop. The app is in the background while a session of its user is locked or the machine
/// is asleep.
///
/// It uses systemd-logind's `Lock`, `Unlock` and `PrepareForSleep`, and the property `LockedHint`, with which a
/// desktop reports a locked screen. After a wake-up behind a locked screen, the app is still in the background. If
/// a desktop obeys `Lock` but never reports the unlocking, the app never comes back. Each further lock and each sleep is
/// reported all the same.
///
/// Each listener has a thread and a connection to the system bus. Sleep is delayed until the listener has noted it.
/// If the bus or logind ends, the stream continues without changes, and the state is read again when they are back.
/// The monitor reconnects after a second, then less and less often, down to every 30 seconds. It also does so if
/// they are missing at first: see ``checkReachable()``. A bus that accepts and never answers counts as missing.
///
/// The monitor opens libsystemd at run time. No build needs it, and a machine without it has no such monitor.
public struct LogindMonitor: BackgroundMonitor {
    private let session: String?
    private let busAddress: String?
    private let pause: Duration
    private let timeout: Duration
    private let connection = LogindStatus()

    /// Makes a monitor. It connects with the first listener.
    ///
    /// - Parameters:
    ///   - session: the id of a session, as in `loginctl`; nil for the session of the process and all sessions of its
    ///     user, also later ones.
    ///   - busAddress: the D-Bus address of logind's bus; nil for the system bus (`DBUS_SYSTEM_BUS_ADDRESS`, if
    ///     set).
    public init(session: String? = nil, busAddress: String? = nil) {
        self.init(session: session, busAddress: busAddress, pause: .seconds(1))
    }

    /// - Parameters:
    ///   - pause: the wait before the first reconnection.
    ///   - timeout: the time limit for a connection, and then for each answer. Both together stay below the ten seconds
    ///     for which a program waits for the agent.
    init(session: String? = nil, busAddress: String?, pause: Duration, timeout: Duration = .seconds(4)) {
        self.session = session
        self.busAddress = busAddress
        self.pause = pause
        self.timeout = timeout
    }

    /// Whether this machine has libsystemd. Without it, each monitor notices nothing.
    public static var hasLibrary: Bool { (try? LibSystemd()) != nil }

    /// Starts to listen, on its own thread and connection.
    ///
    /// - Returns: the changes from now on. The stream ends at once when the process has no file descriptor left.
    public func changes() -> AsyncStream<BackgroundChange> {
        guard let end = EventDescriptor() else {
            // There is no file descriptor left, so this stream never tells anything.
            let (stream, listener) = BackgroundListener.make()
            listener.end()
            return stream
        }
        let (stream, listener) = BackgroundListener.make { end.signal() }
        let watch = LogindWatch(
            session: session, busAddress: busAddress, pause: pause, timeout: timeout, listener: listener, end: end,
            connection: connection)
        Thread.detachNewThread { @Sendable in watch.run() }
        return stream
    }

    /// Returns the noticed events: `screenLock` and `sleep`. Without a listener, logind is asked. This takes a few
    /// seconds if the bus does not answer.
    public func status() async -> MonitorStatus {
        if let known = connection.status { return known }
        do {
            try await checkReachable()
            return .logind(hasSession: true)
        } catch {
            let error = error as? LogindError ?? LogindError(.logindUnavailable)
            // Without a session, sleep is noticed. With a wrong session id, nothing is noticed.
            return error.code == .noSuchSession && session == nil ? .logind(hasSession: false) : .logind(error)
        }
    }

    /// Checks that logind answers and knows the session.
    ///
    /// - Throws: ``LogindError``, after a few seconds if the bus or logind does not answer.
    public func checkReachable() async throws {
        try await onThread { [session, busAddress, timeout] in
            guard let end = EventDescriptor() else { throw LogindError(.busUnavailable) }
            let logind = try LogindConnection(session: session, busAddress: busAddress, end: end, timeout: timeout)
            guard !logind.sessions.isEmpty else { throw LogindError(.noSuchSession) }
        }
    }
}
