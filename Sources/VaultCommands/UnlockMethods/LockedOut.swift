internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// An account that the tried unlock methods do not open, because the key service has said that their keys are locked.
struct LockedOut {
    let account: Account
    let vault: Vault
    /// The keyslots whose keys are locked. There is at least one.
    let locked: [Keyslot]

    /// Returns the error. It names the one command that helps now.
    ///
    /// - Parameters:
    ///   - otherWay: a sentence with the command for another unlock method that works; nil if there is none.
    ///   - changesMethods: whether the person wants to change the unlock methods, and not only to log in.
    ///   - isQuiet: whether to show no spinner.
    func error(otherWay: String? = nil, changesMethods: Bool, isQuiet: Bool) async -> VaultError {
        let fact = fact("still locked")
        let way = await Spinner.during("Asking the key service", isQuiet: isQuiet) {
            if let otherWay { otherWay } else { await self.way(changesMethods: changesMethods) }
        }
        return VaultError(.keyLocked, fact, unlockMethod: locked.first?.kind).saying("\(fact) \(way)")
    }

    /// The sentence after a lock or a log-out.
    func wayBack() async -> String { "\(fact("locked")) \(await way(changesMethods: false))" }

    private func fact(_ state: String) -> String {
        let names = locked.map(\.kind.displayName).listed("and the")
        return "The \(names) of \(Printable.text(account.displayName)) \(locked.count == 1 ? "is" : "are") \(state)."
    }

    /// A sentence with the command that opens the account or unlocks its keys. A command that the person can type without
    /// help comes first.
    private func way(changesMethods: Bool) async -> String {
        let slots = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
        let usable = slots.filter { $0.state == .usable }.map(\.kind)
        let command = changesMethods ? "passwd" : "login"
        let them = locked.count == 1 ? "it" : "them"
        if usable.contains(.recovery) {
            return "With the recovery code: \(Proposed.command("\(command) --recovery-code"))"
        }
        if usable.contains(.offline), let end = try? await vault.storage.endOfOpeningOffline(of: account.id),
            end > SystemWallClock().now
        {
            return "With the password, without the key service: \(Proposed.command("\(command) --offline"))"
        }
        let operators = Hints.operatorsUnlocking(locked.map(\.keyID))
        switch await mayUnlockByOwner() {
        case true?: return "To unlock \(them) by a sign-in: \(Proposed.command("unlock reset"))"
        case false?: return "Only the operator of \(account.keyServiceURL) can unlock \(them): \(operators)"
        case nil:
            return
                """
                \(account.keyServiceURL) did not answer, so vault does not know whether a sign-in can unlock \(them). To \
                try later: \(Proposed.command("unlock reset")). For the operator: \(operators)
                """
        }
    }

    /// Whether the key service lets the owner unlock the keys; nil if it does not answer. Nobody waits long for a service
    /// that hangs.
    private func mayUnlockByOwner() async -> Bool? {
        guard let accounts = try? vault.accounts, await accounts.mayBeUnlockedByOwner(account) else { return false }
        let account = account
        return await within(UnlockOptions.glance, ContinuousClock()) { () async -> Bool? in
            do {
                try await accounts.requireOwnerUnlock(of: account)
                return true
            } catch {
                return (error as? VaultError)?.code == .keyServiceUnavailable ? nil : false
            }
        } ?? nil
    }
}

// Closing the last open session of such an account.
extension LockedOut {
    /// The state of the account if all unlock methods that `vault login` tries by itself are locked, as far as this
    /// machine knows. Asks no server.
    static func known(of account: Account, in vault: Vault) async -> LockedOut? {
        let slots = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
        let tried = slots.filter { MethodKind.of($0.kind)?.requiresOption == false }
        let ids = Set(tried.filter { $0.state == .locked }.map(\.id))
        guard !ids.isEmpty, tried.allSatisfy({ $0.state != .usable }) else { return nil }
        return LockedOut(account: account, vault: vault, locked: account.keyslots.filter { ids.contains($0.id) })
    }

    /// Asks before a command closes an open session that no login opens again. Where nobody can answer, and with
    /// `--json`, only tells the script: a lock must always work. A window does not ask, because nobody may be there.
    ///
    /// - Parameters:
    ///   - open: the accounts that the agent holds open.
    ///   - question: a question that is answered with yes or no.
    /// - Throws: `VaultError` with code `cancelled`.
    static func requireConsent(
        toClose account: Account, in vault: Vault, open: () async -> [AccountID], _ question: String,
        _ consent: ClosingOptions, _ global: GlobalOptions
    ) async throws {
        guard !consent.yes, let state = await known(of: account, in: vault), await open().contains(account.id) else {
            return
        }
        let name = Printable.text(account.displayName)
        let warning = "vault: \(state.fact("locked")) \(name) is still open. After this, vault login does not open it."
        let terminal = ControllingTerminal()
        // A hook or a background program can have a terminal at which nobody looks.
        guard !global.json, isatty(STDIN_FILENO) == 1, terminal.isInForeground else {
            if !global.json { Output.note(warning) }
            return
        }
        terminal.tell(warning)
        guard try await terminal.confirm(question) else { throw VaultError(.cancelled, "Nothing was closed.") }
    }
}

/// `--yes`, for the commands that close a session.
struct ClosingOptions: ParsableArguments {
    @Flag(help: "Close an open session without a question, even if all unlock methods are locked.")
    var yes = false
}
