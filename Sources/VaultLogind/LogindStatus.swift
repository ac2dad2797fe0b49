public import VaultBackground
internal import VaultBase

/// The state of the listeners' connection to logind; nil before the first listener.
final class LogindStatus: Sendable {
    private let current = Lock<MonitorStatus?>(nil)

    var status: MonitorStatus? { current.withLock { $0 } }

    func set(_ status: MonitorStatus?) { current.withLock { $0 = status } }
}

/// The problems of a ``LogindMonitor``.
extension MonitorStatus.Problem.Code {
    /// The user has no session on the machine, so only sleep is noticed, and no screen lock.
    public static let noSession = Self(name: "noSession")
    /// The machine has no libsystemd: see ``LogindError/Code/libraryMissing``.
    public static let libraryMissing = Self(name: LogindError.Code.libraryMissing.name)
    /// There is no message bus: see ``LogindError/Code/busUnavailable``.
    public static let busUnavailable = Self(name: LogindError.Code.busUnavailable.name)
    /// There is no logind: see ``LogindError/Code/logindUnavailable``.
    public static let logindUnavailable = Self(name: LogindError.Code.logindUnavailable.name)
    /// There is no session with the id that the monitor was made for, so nothing is noticed.
    public static let noSuchSession = Self(name: LogindError.Code.noSuchSession.name)
}

extension MonitorStatus {
    static func logind(hasSession: Bool) -> MonitorStatus {
        hasSession
            ? MonitorStatus(source: "logind", events: [.screenLock, .sleep])
            : MonitorStatus(
                source: "logind", events: [.sleep],
                problem: Problem(.noSession, "The user has no session on this machine."))
    }

    static func logind(_ error: LogindError) -> MonitorStatus {
        let problem = Problem(Problem.Code(name: error.code.name), error.description)
        return MonitorStatus(source: "logind", events: [], problem: problem)
    }
}
