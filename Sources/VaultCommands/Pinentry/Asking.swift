internal import CredentialVault
internal import VaultBase

/// The choice of where to ask: at the terminal, or in a window if there is a display and no terminal.
enum Asking {
    private struct Limits {
        var isDisplayOnly = false
        var advice: String?
    }

    private static let limits = Lock(Limits())

    /// Returns the terminal or window that asks.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid` when the settings cannot be read.
    static func terminal() async throws -> any Terminal {
        if !limits.withLock({ $0.isDisplayOnly }) {
            let terminal = ControllingTerminal()
            if terminal.isInteractive { return terminal }
        }
        return try await Pinentry.configured().map(PinentryTerminal.init) ?? NoTerminal()
    }

    /// Limits the later questions, for a program that runs this one.
    ///
    /// - Parameters:
    ///   - isDisplayOnly: whether the terminal belongs to that program alone.
    ///   - advice: the advice if nobody can be asked, in place of the usual advice.
    static func restrict(toDisplay isDisplayOnly: Bool, advice: String) {
        limits.withLock { $0 = Limits(isDisplayOnly: isDisplayOnly, advice: advice) }
    }

    /// Also advises a login, for a command that can use a session of the agent.
    ///
    /// - Parameter user: the option that names the account.
    static func suggestLogin(user: String) {
        limits.withLock {
            $0.advice =
                $0.advice ?? "\(usualAdvice) Or open a session at a terminal: vault login \(user)"
        }
    }

    private static let usualAdvice = "Use --password-file PATH (- for standard input) or --password-fd N."

    fileprivate static var advice: String {
        limits.withLock { $0.advice } ?? usualAdvice
    }
}

/// A terminal where nobody can be asked.
struct NoTerminal: Terminal {
    static var error: VaultError {
        VaultError(.configurationInvalid, "There is no terminal to ask for the password. \(Asking.advice)")
    }

    var isInteractive: Bool { false }
    func askHidden(_ prompt: String) async throws -> SecretBytes { throw Self.error }
    func ask(_ prompt: String) async throws -> String { throw Self.error }
}
