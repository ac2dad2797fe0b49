internal import ArgumentParser
internal import CredentialVault
internal import VaultBase

// The commands that close all sessions.
extension AgentCommand {
    struct Stop: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop", abstract: "Lock all sessions and end the agent.", discussion: askingFirst)

        @Flag(help: "End the agent even if it cannot store a renewed token. The token is then lost.")
        var force = false

        @OptionGroup var consent: ClosingOptions
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let settings = try await Settings(global, toClose: true)
            let agent = try AgentSessions(settings)
            let open = agent.hasPlace ? (try? await agent.openBeforeLock().get()) ?? [] : []
            let vault = try await vaultAfterConsent(toClose: open, consent, global)
            do {
                let note = try await agent.stop(isForced: force)
                if let note { Output.note("vault: \(note) \(Hints.afterLostToken)") }
            } catch let error as VaultError where error.code == .notLoggedIn {
                return Report(running: false).show("No agent runs.", global)
            }
            let ways = global.json ? nil : await vault?.otherWaysBack(to: open, settings).map { $0.way }
            Report(running: false).show("The agent has ended.", next: ways ?? [], global)
        }
    }

    struct Lock: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "lock", abstract: "Lock all sessions. The agent keeps running.", discussion: askingFirst)

        @OptionGroup var consent: ClosingOptions
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let settings = try await Settings(global, toClose: true)
            let agent = try AgentSessions(settings)
            let open = try? await agent.openBeforeLock().get()
            let vault = try await vaultAfterConsent(toClose: open ?? [], consent, global)
            do {
                // Also if nothing is open: a login that is under way must not leave its session here.
                try await agent.lock(nil)
            } catch let error as VaultError where error.code == .notLoggedIn {
                return Report(running: false).show("No agent runs, so no session is open.", global)
            }
            guard open?.isEmpty != true else { return Report(running: true).show("No session was open.", global) }
            let ways = global.json ? nil : await vault?.waysBack(to: open ?? [], settings)
            Report(running: true).show(
                "Locked all sessions.", next: ways ?? ["To open them again: vault agent unlock"], global)
        }
    }

    private static let askingFirst = """
        If all unlock methods of an account are locked, vault login does not open the account again. At a terminal, \
        vault then asks before it locks an open session of the account.
        """

    /// Asks before all sessions are closed, as `vault lock` does for one session.
    ///
    /// - Returns: the vault. Nil if no session is open, if nobody reads a sentence, or if the vault does not open soon: a
    ///   lock must always work.
    private static func vaultAfterConsent(
        toClose open: [AccountID], _ consent: ClosingOptions, _ global: GlobalOptions
    ) async throws -> Vault? {
        guard !open.isEmpty, !global.json else { return nil }
        guard let vault = await openedSoon(global) else { return nil }
        try await LockedOut.requireConsent(
            toClose: open, in: vault, open: { open }, { _ in "Lock all sessions anyway?" }, saysYes: consent.yes,
            global)
        return vault
    }

    /// Returns nil if the vault does not open soon. The disk may not answer, and then nothing stops the call that waits for
    /// it, so this does not wait for its end.
    private static func openedSoon(_ global: GlobalOptions) async -> Vault? {
        let (vaults, continuation) = AsyncStream<Vault?>.makeStream()
        Task { continuation.yield(try? await global.openVaultToClose().vault) }
        return await within(UnlockOptions.glance, ContinuousClock()) { await vaults.first { _ in true } ?? nil } ?? nil
    }
}
