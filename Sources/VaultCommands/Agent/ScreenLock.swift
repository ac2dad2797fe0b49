internal import CredentialVault
internal import VaultLogind

/// The lock of the agent's sessions with the screen and before sleep, in words for a person.
enum ScreenLock {
    /// The monitor that tells when nobody is at the machine.
    static let monitor = LogindMonitor()

    /// The line of `vault agent status`.
    static func sentence(_ status: MonitorStatus) -> String {
        let events = status.events.map(\.description).joined(separator: ", ")
        let sentence = status.isListening ? "The sessions also lock on: \(events) (\(status.source))." : nothing
        return status.problem.map { "\(sentence) \(words($0))" } ?? sentence
    }

    private static func words(_ problem: MonitorStatus.Problem) -> String {
        switch problem.code {
        case .noSession: "The user has no session on this machine, so no screen lock is noticed."
        // The library's sentence also has the error of the message bus.
        default: problem.description
        }
    }

    /// The line of `vault doctor`.
    static func check() async -> Check {
        let status = await monitor.status()
        guard !status.isListening || status.problem != nil else {
            return Check(name: "screen lock", outcome: .ok, finding: sentence(status))
        }
        return Check(
            name: "screen lock", outcome: .warn, finding: sentence(status),
            advice: LogindMonitor.hasLibrary ? "The time limits still lock the sessions." : install)
    }

    /// The warning after a login on a machine that can never lock a session with the screen.
    static var warning: String? { LogindMonitor.hasLibrary ? nil : "\(nothing) \(install)" }

    private static let nothing = "The sessions do not lock with the screen or before sleep."
    private static let install = "Install the package libsystemd0."
}
