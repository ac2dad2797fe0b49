internal import ArgumentParser
internal import CredentialVault
internal import VaultAgentProtocol

struct AgentOption: ParsableArguments {
    @Flag(name: .customLong("no-agent"), help: "Do not use the agent. The session ends with this command.")
    var noAgent = false
}

/// How long the agent holds a session, and whether other sessions stay open.
struct HoldingOptions: ParsableArguments {
    @Option(
        name: .customLong("idle-timeout"),
        help: ArgumentHelp(
            "Lock the session after this time without use. 0 means never. (default: the setting idle-timeout, or 15)",
            valueName: "minutes"),
        transform: Settings.Name.idleTimeout.limit)
    var idleTimeout: UInt32?

    @Option(
        name: .customLong("session-lifetime"),
        help: ArgumentHelp(
            "Lock the session after this time in any case. 0 means never. (default: the setting session-lifetime, or 12)",
            valueName: "hours"),
        transform: Settings.Name.sessionLifetime.limit)
    var sessionLifetime: UInt32?

    @Flag(help: "Lock the sessions of all other accounts in the agent.")
    var exclusive = false

    /// Leaves the session to the agent, unless options or settings say no. If the agent fails, the command tells the
    /// person and goes on.
    ///
    /// - Returns: whether the agent holds the session.
    func leaveToAgent(_ session: Session, _ option: AgentOption, _ global: GlobalOptions) async throws -> Bool {
        let settings = try await Settings(global)
        let agent = try AgentSessions(settings)
        guard !option.noAgent, agent.isUsed else { return false }
        do {
            try await agent.hold(session, rules(settings), global)
            if let warning = ScreenLock.warning {
                Spinner.stopAll()
                Output.note("vault: \(warning)")
            }
            return true
        } catch let error as VaultError {
            Spinner.stopAll()
            Output.note("vault: You are logged in, but the session does not stay open. \(error.text)")
            return false
        }
    }

    private func rules(_ settings: Settings) throws -> HoldingRules {
        HoldingRules(
            idleSeconds: try idleTimeout ?? settings[.idleTimeout].map(Settings.Name.idleTimeout.limit) ?? 15 * 60,
            lifetimeSeconds: try sessionLifetime
                ?? settings[.sessionLifetime].map(Settings.Name.sessionLifetime.limit) ?? 12 * 3600,
            isExclusive: try exclusive || settings[.exclusive].map(Settings.Name.exclusive.isOn) ?? false)
    }
}
