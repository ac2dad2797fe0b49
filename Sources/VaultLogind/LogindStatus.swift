internal import VaultBackground
internal import VaultBase

/// The state of the listeners' connection to logind; nil before the first listener.
final class LogindStatus: Sendable {
    private let current = Lock<MonitorStatus?>(nil)

    var status: MonitorStatus? { current.withLock { $0 } }

    func set(_ status: MonitorStatus?) { current.withLock { $0 = status } }
}

extension MonitorStatus {
    static func logind(hasSession: Bool) -> MonitorStatus {
        hasSession
            ? MonitorStatus(source: "logind", events: ["screen lock", "sleep"])
            : MonitorStatus(
                source: "logind", events: ["sleep"],
                problem: "The user has no session on this machine, so no screen lock is noticed.")
    }

    static func logind(_ error: LogindError) -> MonitorStatus {
        MonitorStatus(source: "logind", events: [], problem: error.description)
    }
}
