#if Logind
    internal import Foundation
    public import VaultBackground

    /// A monitor for an app on a desktop: it is in the background while its session is locked, or the machine asleep.
    ///
    /// systemd-logind tells: the session's `Lock` and `Unlock`, its property `LockedHint`, by which a desktop says that
    /// the screen is locked, and `PrepareForSleep`. Waking up behind a locked screen is not coming back. A desktop that
    /// obeys `Lock` and tells logind nothing when the person unlocks the screen is never seen to come back.
    ///
    /// While somebody listens, there is a thread and a connection to the system bus for each listener, and the machine's
    /// sleep is held back until the listener has noted that it begins. When the bus or logind goes away the stream goes
    /// on, and nothing is told until they are back, at which they are asked for how things stand. It is looked for after
    /// a second, and then less and less often, down to every 30 seconds; also when they are not there at first:
    /// ``checkReachable()`` finds that out.
    public struct LogindMonitor: BackgroundMonitor {
        private let session: String?
        private let busAddress: String?
        private let pause: Duration
        private let connection = LogindStatus()

        /// Makes a monitor. Nothing is connected until somebody listens.
        ///
        /// - Parameters:
        ///   - session: the id of a session, as `loginctl` lists them. nil for the one that the process runs in, or else
        ///     the one that its user sees.
        ///   - busAddress: the D-Bus address of the bus that logind is on. nil for the system bus
        ///     (`DBUS_SYSTEM_BUS_ADDRESS`, if that is set).
        public init(session: String? = nil, busAddress: String? = nil) {
            self.init(session: session, busAddress: busAddress, pause: .seconds(1))
        }

        /// - Parameter pause: how soon a lost connection is made again at first.
        init(session: String?, busAddress: String?, pause: Duration) {
            self.session = session
            self.busAddress = busAddress
            self.pause = pause
        }

        /// Begins to listen, on a thread and a connection of its own.
        ///
        /// - Returns: the changes from now on. The stream ends at once when the process has no file descriptor left.
        public func changes() -> AsyncStream<BackgroundChange> {
            guard let end = EventDescriptor() else {
                // Out of file descriptors: this stream cannot tell anything.
                let (stream, listener) = BackgroundListener.make()
                listener.end()
                return stream
            }
            let (stream, listener) = BackgroundListener.make { end.signal() }
            let watch = LogindWatch(
                session: session, busAddress: busAddress, pause: pause, listener: listener, end: end,
                connection: connection)
            Thread.detachNewThread { @Sendable in watch.run() }
            return stream
        }

        /// What logind can be heard of now: `logind: screen lock, sleep`. While nobody listens yet, it is asked.
        public func status() async -> MonitorStatus {
            if let known = connection.status { return known }
            do {
                try await checkReachable()
                return .logind(hasSession: true)
            } catch {
                let error = error as? LogindError ?? LogindError(.logindUnavailable)
                // A process without a session hears of sleep; with one that does not exist it hears nothing.
                return error.code == .noSuchSession && session == nil ? .logind(hasSession: false) : .logind(error)
            }
        }

        /// Finds out whether logind answers and knows the session, before somebody relies on it.
        ///
        /// - Throws: ``LogindError``.
        public func checkReachable() async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.detachNewThread { @Sendable [session, busAddress] in
                    continuation.resume(
                        with: Result {
                            guard let end = EventDescriptor() else { throw LogindError(.busUnavailable) }
                            let logind = try LogindConnection(session: session, busAddress: busAddress, end: end)
                            guard logind.hasSession else { throw LogindError(.noSuchSession) }
                        })
                }
            }
        }
    }
#endif
