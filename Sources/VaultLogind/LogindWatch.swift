#if Logind
    internal import VaultBackground

    /// A watch of logind for one listener, on its own thread.
    struct LogindWatch: Sendable {
        let session: String?
        let busAddress: String?
        /// The wait before the first reconnection.
        let pause: Duration
        let listener: BackgroundListener
        /// The signal for the end of the listening.
        let end: EventDescriptor
        /// The place for the state of the connection.
        let connection: LogindStatus

        private static let longestPause = Duration.seconds(30)

        /// The known state of the person. It does not change while the connection is lost.
        private struct Absence {
            var isLocked = false
            var isAsleep = false

            var isAway: Bool { isLocked || isAsleep }
        }

        /// Runs until the listening ends.
        func run() {
            defer { connection.set(nil) }
            var absence = Absence()
            var pause = pause
            while !listener.hasEnded {
                do {
                    let logind = try LogindConnection(session: session, busAddress: busAddress, end: end)
                    pause = self.pause
                    connection.set(.logind(hasSession: logind.hasSession))
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
            var delay = try logind.delaySleep()
            change(&absence, to: Absence(isLocked: try logind.isLocked(), isAsleep: try logind.isAsleep()))
            while let event = try logind.next() {
                switch event {
                case .locked(let isLocked):
                    change(&absence, to: Absence(isLocked: isLocked, isAsleep: absence.isAsleep))
                case .asleep(true):
                    change(&absence, to: Absence(isLocked: absence.isLocked, isAsleep: true))
                    // The listener must note the time before the machine sleeps.
                    listener.whenTaken { [delay] in delay?.end() }
                case .asleep(false):
                    change(&absence, to: Absence(isLocked: absence.isLocked, isAsleep: false))
                    delay = try logind.delaySleep()
                }
            }
        }

        private func change(_ absence: inout Absence, to new: Absence) {
            if absence.isAway != new.isAway { listener.tell(new.isAway ? .entered : .left) }
            absence = new
        }
    }
#endif
