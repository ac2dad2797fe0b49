internal import Foundation

/// Places where a test can kill the process, as with `kill -9`. In a build for tests, the environment variable
/// `VAULT_KEY_SERVICE_FAULT` names the place. A release build has no such code.
package enum FaultPoint: String {
    /// The guess is charged durably, but not evaluated yet.
    case charged
    /// The guess was right, but its charge is not taken back yet.
    case evaluated
    /// The charge of the right guess is taken back, but the answer is not sent yet.
    case settled
    /// The copy of the database is whole, but has not got its name yet.
    case backedUp = "backed-up"
    /// The state of the audit log has the new lines, but the log file does not.
    case auditStateWritten = "audit-state-written"
    /// The log file has the new lines, but the state does not note this yet.
    case auditLinesWritten = "audit-lines-written"

    package func strike() {
        #if DEBUG || TEST_HOOKS
            if Self.chosen == self { kill(getpid(), SIGKILL) }
        #endif
    }

    #if DEBUG || TEST_HOOKS
        private static let chosen = ProcessInfo.processInfo.environment["VAULT_KEY_SERVICE_FAULT"]
            .flatMap(FaultPoint.init(rawValue:))
    #endif
}
