internal import CredentialVault
internal import VaultBase

/// An account that no unlock method opens at once, because the key service has just said that their keys are locked.
struct LockedOut {
    let account: Account
    let vault: Vault
    /// The keyslots whose keys are locked. There is at least one.
    let locked: [Keyslot]

    /// Returns the error. It names the one command that helps now.
    ///
    /// - Parameters:
    ///   - changesMethods: whether the person wants to change the unlock methods, and not only to log in.
    ///   - isQuiet: whether to show no spinner.
    func error(changesMethods: Bool, isQuiet: Bool) async -> VaultError {
        let names = locked.map(\.kind.displayName).listed("and the")
        let verb = locked.count == 1 ? "is" : "are"
        let fact = "The \(names) of \(Printable.text(account.displayName)) \(verb) still locked."
        let way = await Spinner.during("Asking the key service", isQuiet: isQuiet) {
            await self.way(changesMethods: changesMethods)
        }
        return VaultError(.keyLocked, fact, unlockMethod: locked.first?.kind).saying("\(fact) \(way)")
    }

    /// What opens the account, or unlocks its keys, in this order: what the person can do alone comes first.
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
        if let accounts = try? vault.accounts, (try? await accounts.requireOwnerUnlock(of: account)) != nil {
            return "To unlock \(them) by a sign-in: \(Proposed.command("unlock reset"))"
        }
        return
            "Only the operator of \(account.keyServiceURL) can unlock \(them): \(Hints.operatorsUnlocking(locked.map(\.keyID)))"
    }
}
