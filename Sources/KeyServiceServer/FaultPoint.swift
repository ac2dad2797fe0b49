internal import Foundation

/// Places where a test can make the process die as by `kill -9`. They exist in debug builds only: the environment
/// variable `VAULT_KEY_SERVICE_FAULT` names one.
enum FaultPoint: String {
    /// The guess is charged, durably, and not yet evaluated.
    case charged
    /// The guess was right, and is not yet given back.
    case evaluated
    /// The right guess is given back, durably if it has to be, and not yet answered.
    case settled

    func strike() {
        #if DEBUG
            if Self.chosen == self { kill(getpid(), SIGKILL) }
        #endif
    }

    #if DEBUG
        private static let chosen = ProcessInfo.processInfo.environment["VAULT_KEY_SERVICE_FAULT"]
            .flatMap(FaultPoint.init(rawValue:))
    #endif
}
