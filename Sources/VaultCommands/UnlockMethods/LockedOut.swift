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
            if let otherWay { otherWay } else { await self.way(changesMethods ? "passwd" : "login") }
        }
        return VaultError(.keyLocked, fact, unlockMethod: locked.first?.kind).saying("\(fact) \(way)")
    }

    /// The sentence after a lock or a log-out, or before a deletion.
    ///
    /// - Parameter command: what the person types after `vault` to open the account.
    func wayBack(_ command: String = "login") async -> String { "\(fact("locked")) \(await way(command))" }

    private var name: String { Printable.text(account.displayName) }

    private func fact(_ state: String) -> String {
        let names = locked.map(\.kind.displayName).listed("and the")
        return "The \(names) of \(name) \(locked.count == 1 ? "is" : "are") \(state)."
    }

    /// A sentence with the command that opens the account or unlocks its keys. A command that the person can type without
    /// help comes first.
    private func way(_ command: String) async -> String {
        let slots = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
        let usable = slots.filter { $0.state == .usable }.map(\.kind)
        if usable.contains(.recovery) {
            return "With the recovery code: \(Proposed.command("\(command) --recovery-code"))"
        }
        if usable.contains(.offline), let end = try? await vault.storage.endOfOpeningOffline(of: account.id),
            end > SystemWallClock().now
        {
            return "With the password, without the key service: \(Proposed.command("\(command) --offline"))"
        }
        let operators = Hints.operatorsUnlocking(locked.map(\.keyID))
        let times = await (try? vault.accounts)?.ownerUnlockTimes(of: account) ?? [:]
        if let waiting = Hints.waiting(locked.map(\.keyID), times) {
            return "\(waiting). For the operator: \(operators)"
        }
        let all = locked.count == 1 ? "it" : "them"
        let ready = locked.filter { times[$0.keyID] == nil }
        let them = ready.count == locked.count ? all : "the \(ready.map(\.kind.displayName).listed("and the"))"
        switch await mayUnlockByOwner() {
        case true?: return "To unlock \(them) by a sign-in: \(Proposed.command("unlock reset"))"
        case false?: return "Only the operator of \(account.keyServiceURL) can unlock \(all): \(operators)"
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

    /// The states of all these accounts that are locked out. Leaves out an account that the store cannot read.
    static func known(of ids: [AccountID], in vault: Vault) async -> [LockedOut] {
        var states: [LockedOut] = []
        for id in ids {
            guard let account = try? await vault.storage.account(id) else { continue }
            if let state = await known(of: account, in: vault) { states.append(state) }
        }
        return states
    }

    /// Asks at a terminal before a command closes open sessions that no login opens again. If nobody can answer, only
    /// warns, because a lock must always work. With `--json`, does not even warn. Never asks in a window, because nobody
    /// may look at it.
    ///
    /// - Parameters:
    ///   - ids: the accounts whose sessions the command closes.
    ///   - open: the accounts that the agent holds open. Not called if no account is locked out.
    ///   - deletesTokens: whether the command also deletes tokens. If so, asks also without an open session.
    ///   - question: makes the question, to be answered with yes or no, from the names of the accounts.
    ///   - saysYes: whether an option has answered yes.
    /// - Throws: `VaultError` with code `cancelled`.
    static func requireConsent(
        toClose ids: [AccountID], in vault: Vault, open: () async -> [AccountID], deletesTokens: Bool = false,
        _ question: (String) -> String, saysYes: Bool, _ global: GlobalOptions
    ) async throws {
        guard !saysYes else { return }
        let known = await known(of: ids, in: vault)
        guard !known.isEmpty else { return }
        let open = await open()
        let states = known.filter { deletesTokens || open.contains($0.account.id) }
        guard !states.isEmpty else { return }
        let warnings = states.map { state in
            let isOpen = open.contains(state.account.id)
            let loss = isOpen ? "\(state.name) is still open." : "This deletes the tokens of \(state.name)."
            return "vault: \(state.fact("locked")) \(loss) After this command, vault login does not open \(state.name)."
        }
        let terminal = ControllingTerminal()
        // A hook or a background program can have a terminal at which nobody looks.
        guard !global.json, isatty(STDIN_FILENO) == 1, terminal.isInForeground else {
            if !global.json { for warning in warnings { Output.noteWithoutWaiting(warning) } }
            return
        }
        for warning in warnings { terminal.tell(warning) }
        guard try await terminal.confirm(question(states.map(\.name).listed("and"))) else {
            throw VaultError(.cancelled, "Nothing was closed\(deletesTokens ? " or deleted" : "").")
        }
    }
}

/// `--yes`, for the commands that close a session.
struct ClosingOptions: ParsableArguments {
    @Flag(help: "Do not ask before sessions are closed or tokens are deleted, even if all unlock methods are locked.")
    var yes = false
}
