#if Logind
    internal import VaultBackground

    /// Follows logind for one listener, on a thread of its own.
    struct LogindWatch: Sendable {
        let session: String?
        let busAddress: String?
        /// How long to wait before connecting again, at first.
        let pause: Duration
        let listener: BackgroundListener
        /// Signalled when nobody listens any more.
        let end: EventDescriptor
        /// Told whether logind can be heard.
        let connection: LogindStatus

        private static let longestPause = Duration.seconds(30)

        /// What is known of the person, also while the connection is lost: whoever is away stays so until logind is back.
        private struct Absence {
            var isLocked = false
            var isAsleep = false

            var isAway: Bool { isLocked || isAsleep }
        }

        /// Returns when nobody listens any more.
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
                    // The bus or logind is gone, or speaks in riddles. Nobody can help that here but by trying again.
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
                    // Once asleep, nobody could note any more when that was.
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
