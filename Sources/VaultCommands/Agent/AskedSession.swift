internal import CredentialVault
internal import Foundation
internal import VaultAgentProtocol
internal import VaultBase

/// The session that a command opened with a secret of the person. If the setting `open-session` says so, the agent keeps
/// it after the command, as after a login.
enum AskedSession {
    private static let last = Lock<Session?>(nil)

    static func note(_ session: Session) { last.withLock { $0 = session } }

    /// Forgets the session of an account that the command closed.
    static func forget(_ id: AccountID) {
        last.withLock { if $0?.id == id { $0 = nil } }
    }

    /// Whether the agent keeps such a session.
    static func isKept(_ settings: Settings) throws -> Bool {
        try settings[.openSession].map(Settings.Name.openSession.isOn) ?? false
    }

    /// Leaves the session to the agent, or tells the person how to be asked only once. Call this after the work of the
    /// command: what fails opens no session.
    static func finish(_ global: GlobalOptions) async {
        let session = last.withLock { last in
            defer { last = nil }
            return last
        }
        guard let session else { return }
        do {
            let settings = try await Settings(global)
            let agent = try AgentSessions(settings)
            guard agent.isUsed else { return }
            if try isKept(settings) {
                _ = try await agent.keep(session, saysYes: false, global) { try HoldingRules(settings) }
            } else if settings[.openSession] == nil, !global.json, isatty(STDERR_FILENO) == 1,
                await canLogIn(session.id)
            {
                Output.note("To be asked only once: \(Proposed.command("login"))")
            }
        } catch {
            // The command has done its work.
            Output.note("vault: \((VaultError.converting(error) as? VaultError)?.text ?? "\(error)")")
        }
    }

    /// Whether a login can work: it needs a refresh token that the provider has not refused.
    private static func canLogIn(_ id: AccountID) async -> Bool {
        guard let storage = GlobalOptions.opened?.storage,
            let account = try? await storage.account(id), account.refusedAt == nil
        else { return false }
        return (try? await storage.hasItem(.refreshToken, of: id)) ?? false
    }
}
