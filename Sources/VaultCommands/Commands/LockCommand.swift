internal import ArgumentParser
internal import CredentialVault

struct LockCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock an account that the agent holds open.",
        discussion: """
            The agent forgets the keys and tokens of the account. The store stays unchanged. To open the account \
            again: vault login. To lock all accounts: vault agent lock.

            If all unlock methods are locked, vault login does not open the account again. At a terminal, vault then \
            asks before it locks an open session.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var consent: ClosingOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let settings = try await Settings(global, toClose: true)
        let agent = try AgentSessions(settings)
        let vault = try await openVault()
        // Asked once, because each question to an agent that hangs takes its time.
        let open = await agent.openBeforeLock()
        let account: Account
        do {
            account = try await user.account(in: vault, countsOpen: true, open: (try? open.get()) ?? []) {
                "To lock one: vault lock \($0). To lock all: vault agent lock"
            }
        } catch let error as VaultError where error.code == .accountAmbiguous && user.id == nil {
            // Whichever account is meant, nothing is left open.
            guard try open.get().isEmpty else { throw error }
            if global.json { return Output.json(["locked": String?.none]) }
            return Output.line("All accounts are locked already.")
        }
        let name = Printable.text(account.displayName)
        try await LockedOut.requireConsent(
            toClose: [account.id], in: vault, open: { (try? open.get()) ?? [] }, { "Lock \($0) anyway?" },
            saysYes: consent.yes, global)
        var wasLocked = (try? open.get().contains(account.id)) == false
        do {
            try await agent.lock(account.id)
        } catch let error as VaultError where error.code == .notLoggedIn {
            // Without an agent no session is open.
            wasLocked = true
        }
        if global.json { return Output.json(["locked": account.id.subject]) }
        let fact = wasLocked ? "\(name) is locked already." : "Locked \(name)."
        Output.line("\(fact) \(await vault.wayBack(to: account, settings))")
    }

    /// Opens the vault, which knows the names of the accounts.
    private func openVault() async throws -> Vault {
        do {
            return try await global.openVaultToClose().vault
        } catch let error as VaultError where error.code != .cancelled {
            throw error.saying("\(error.sentences) To lock all accounts, without the store: vault agent lock")
        }
    }
}
