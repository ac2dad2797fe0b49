internal import ArgumentParser
internal import CredentialVault
internal import Foundation
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
    /// - Parameter saysYes: as for ``AgentSessions/keep(_:saysYes:_:_:)``.
    /// - Returns: whether the agent holds the session.
    func leaveToAgent(
        _ session: Session, _ option: AgentOption, saysYes: Bool, _ global: GlobalOptions
    ) async throws -> Bool {
        guard !option.noAgent else { return false }
        let settings = try await Settings(global)
        let agent = try AgentSessions(settings)
        // A script knows where it runs.
        if agent.lacksPlace && !global.json && isatty(STDERR_FILENO) == 1 {
            Spinner.stopAll()
            Output.note(
                "vault: You are logged in, but the session does not stay open, so each command asks again. The agent needs XDG_RUNTIME_DIR: a folder that only you can use. A login at the screen or with ssh sets it. su and sudo do not. To do without the agent: --no-agent"
            )
        }
        return try await agent.keep(session, saysYes: saysYes, global) {
            try HoldingRules(
                settings, idleSeconds: idleTimeout, lifetimeSeconds: sessionLifetime, isExclusive: exclusive)
        }
    }
}

extension AgentSessions {
    /// Leaves a session to the agent, unless the settings say no. If the agent fails, or if the person does not want to
    /// lock the other sessions, the command tells the person and goes on.
    ///
    /// - Parameter saysYes: whether an option has agreed that an exclusive session locks all others.
    /// - Returns: whether the agent holds the session.
    func keep(
        _ session: Session, saysYes: Bool, _ global: GlobalOptions, _ rules: () throws -> HoldingRules
    ) async throws -> Bool {
        guard isUsed else { return false }
        do {
            let rules = try rules()
            let others = rules.isExclusive ? await others(than: session.id) : []
            try await requireConsent(toLock: others, saysYes: saysYes, global)
            try await hold(session, rules, global)
            if !others.isEmpty && !global.json {
                let names = others.map { Printable.text($0.displayName) }.sorted()
                Spinner.stopAll()
                Output.note("Locked \(names.listed("and")).")
            }
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

    /// The other accounts with an open session, as far as the agent answers soon.
    private func others(than id: AccountID) async -> [Account] {
        guard let vault = GlobalOptions.opened else { return [] }
        var others: [Account] = []
        for other in (try? await openBeforeLock().get()) ?? [] where other != id {
            if let account = try? await vault.storage.account(other) { others.append(account) }
        }
        return others
    }

    private func requireConsent(toLock others: [Account], saysYes: Bool, _ global: GlobalOptions) async throws {
        guard let vault = GlobalOptions.opened else { return }
        let ids = others.map(\.id)
        do {
            try await LockedOut.requireConsent(
                toClose: ids, in: vault, open: { ids }, { "Lock \($0) anyway?" }, saysYes: saysYes, global)
        } catch let error as VaultError where error.code == .cancelled {
            throw VaultError(.cancelled, "You did not agree, so no other session was locked.")
        }
    }
}

extension HoldingRules {
    /// The rules of the settings. The parameters are those of options, which come first.
    init(
        _ settings: Settings, idleSeconds: UInt32? = nil, lifetimeSeconds: UInt32? = nil, isExclusive: Bool = false
    ) throws {
        self.init(
            idleSeconds: try idleSeconds ?? settings[.idleTimeout].map(Settings.Name.idleTimeout.limit) ?? 15 * 60,
            lifetimeSeconds: try lifetimeSeconds
                ?? settings[.sessionLifetime].map(Settings.Name.sessionLifetime.limit) ?? 12 * 3600,
            isExclusive: try isExclusive || settings[.exclusive].map(Settings.Name.exclusive.isOn) ?? false)
    }
}
