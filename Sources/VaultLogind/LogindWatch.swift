internal import VaultBackground

/// A watch of logind for one listener, on its own thread.
struct LogindWatch: Sendable {
    let session: String?
    let busAddress: String?
    /// The wait before the first reconnection.
    let pause: Duration
    /// The time limit for a connection, and then for each answer.
    let timeout: Duration
    let listener: BackgroundListener
    /// The signal for the end of the listening.
    let end: EventDescriptor
    /// The place for the state of the connection.
    let connection: LogindStatus

    private static let longestPause = Duration.seconds(30)

    /// The known state of the person. It does not change while the connection is lost.
    private struct Absence {
        /// The sessions with a locked screen.
        var locked: Set<String> = []
        var isAsleep = false

        var isAway: Bool { !locked.isEmpty || isAsleep }
    }

    /// Runs until the listening ends.
    func run() {
        defer { connection.set(nil) }
        var absence = Absence()
        var pause = pause
        while !listener.hasEnded {
            do {
                let logind = try LogindConnection(
                    session: session, busAddress: busAddress, end: end, timeout: timeout)
                pause = self.pause
                connection.set(.logind(hasSession: !logind.sessions.isEmpty))
                try follow(logind, &absence)
            } catch {
                connection.set(.logind(error as? LogindError ?? LogindError(.logindUnavailable)))
                // The bus or logind is gone, or its answer makes no sense. Only another try can help.
                if end.wait(atMost: pause) { return }
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    private func follow(_ logind: LogindConnection, _ absence: inout Absence) throws {
        change(&absence, to: Absence(locked: try logind.lockedSessions(), isAsleep: try logind.isAsleep()))
        var delay = try logind.delaySleep()
        while let event = try logind.next() {
            switch event {
            // Some desktops never report that the screen is unlocked. So the person may be back at a screen that counts
            // as locked, and then each further lock and each sleep is news.
            case .locked(let session):
                absence.locked.insert(session)
                listener.tell(.entered)
            case .unlocked:
                change(&absence, to: Absence(locked: [], isAsleep: absence.isAsleep))
            case .asleep(true):
                absence.isAsleep = true
                listener.tell(.entered)
                // The listener must note the time before the machine sleeps.
                listener.whenTaken { [delay] in delay?.end() }
            case .asleep(false):
                change(&absence, to: Absence(locked: absence.locked, isAsleep: false))
                delay = try logind.delaySleep()
            case .sessionsChanged:
                // The end of a locked session brings nobody back, so the listener hears nothing of it.
                absence.locked.formIntersection(logind.sessions)
                connection.set(.logind(hasSession: !logind.sessions.isEmpty))
            }
        }
    }

    private func change(_ absence: inout Absence, to new: Absence) {
        // A second session may have been locked while there was no connection.
        let isLockedAgain = !new.locked.isSubset(of: absence.locked)
        if absence.isAway != new.isAway || isLockedAgain { listener.tell(new.isAway ? .entered : .left) }
        absence = new
    }
}
