internal import CredentialVault
internal import Foundation
internal import VaultAgent
internal import VaultBase
internal import VaultLogind
internal import VaultSQLite

/// The process that holds the sessions.
struct AgentProcess {
    let global: GlobalOptions
    /// Asks the person before each first use by another program.
    let consent: ProgramConsent?

    /// Serves until it is stopped.
    ///
    /// - Parameter whenReady: called when clients can connect.
    func run(whenReady: @Sendable () -> Void) async throws {
        var configuration = try await Settings(global).configuration()
        configuration.issuer = nil
        let folder = configuration.folder ?? Vault.standardFolder
        let listener = try await listener()
        let vault = try await global.openVault { $0 = configuration }
        let accounts = try vault.accounts
        let sessions = HeldSessions(
            clock: SteadyClock(ContinuousClock()), policy: WatchedPolicy(),
            makeOpener: openerMaker(configuration, accounts)
        )
        let (monitor, version) = (ScreenLock.monitor, try StoreVersion(folder: folder))
        let requestHandler = AgentRequestHandler(
            sessions: sessions, accounts: accounts, folder: folder, version: { version.current },
            tick: WatchedPolicy.kernelTick, isInPlace: { version.isInPlace }, consent: consent,
            accountTable: {
                let accounts = try await vault.storage.all()
                guard !accounts.isEmpty else { return "" }
                return UsersCommand.table(accounts).lines().map { Printable.lines($0) + "\n" }.joined()
            },
            listening: { [ScreenLock.sentence(await monitor.status())] })
        let server = try AgentServer(requestHandler: requestHandler)
        Task {
            for await change in monitor.changes() where change == .entered {
                await sessions.lockAll(.backgroundTimeout)
            }
        }
        Task { await watch({ listener.isReachable && version.isInPlace }, server, sessions) }
        whenReady()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { @Sendable in
                    server.run(listener)
                    continuation.resume()
                }
            }
        } onCancel: {
            server.stop()
        }
        // In a new task, because a store does nothing for a cancelled task.
        await Task { await end(sessions, listener) }.value
    }

    private func end(_ sessions: HeldSessions, _ listener: AgentListener) async {
        await sessions.lockAll(.requested)
        listener.remove()
        if sessions.hasUnfinished { Output.note(Interruption.waiting) }
        for name in await sessions.storeUnfinished() {
            Output.note("vault: \(AgentRequestHandler.loss(name)) \(Hints.afterLostToken)")
        }
        sessions.giveUpUnfinished()
        await Interruption.drain()
    }

    private func listener() async throws -> AgentListener {
        let environment = ProcessInfo.processInfo.environment
        if let given = AgentListener(listeners: environment["LISTEN_FDS"], process: environment["LISTEN_PID"]) {
            return given
        }
        guard let path = AgentClient(folder: try await Settings(global).agentFolder).path else {
            throw VaultError(
                .configurationInvalid,
                "The agent needs XDG_RUNTIME_DIR. Set it to a folder that only you can use, with a path of at most 60 characters."
            )
        }
        return try AgentListener(path: path)
    }

    /// Makes an opener for each session, so that each has its own renewed tokens. They share the store and the connections
    /// to servers.
    private func openerMaker(
        _ configuration: VaultConfiguration, _ accounts: Accounts
    ) -> @Sendable () async throws -> SessionOpener {
        let transport = AsyncHTTPTransport(
            certificateFile: configuration.certificateFile, hostCertificateFiles: configuration.hostCertificateFiles)
        return {
            let opener = try SessionOpener(
                configuration, obeying: ObeyedPolicy(configuration.policy, watching: WatchedPolicy()),
                store: accounts.store, transport: transport)
            Interruption.wait(for: opener.accounts.stopGuard)
            return opener
        }
    }

    /// Applies a changed policy to sessions that nobody uses. Ends the agent when no program can reach it any more, for
    /// example after the person logged out of the machine.
    private func watch(
        _ isUsable: () -> Bool, _ server: AgentServer, _ sessions: HeldSessions
    ) async {
        func pause() async { try? await Task.sleep(for: .seconds(20), clock: .continuous) }
        while isUsable() {
            await sessions.obeyPolicy()
            await pause()
        }
        await sessions.lockAll(.requested)
        // The agent can tell nobody, so it waits until no token is lost.
        while await !sessions.storeUnfinished().isEmpty { await pause() }
        server.stop()
    }
}
