internal import CredentialVault

extension ServiceChecks {
    /// Ends the keys of removed unlock methods that could not be ended before.
    ///
    /// - Parameter isKeyServiceDown: whether another check already says that a key service does not answer.
    func oldKeys(isKeyServiceDown: Bool) async -> Check {
        let name = "old keys"
        guard let vault = try? await vault(), let accounts = try? vault.accounts,
            let due = try? await accounts.listedKeys().count
        else {
            return Check(
                name: name, outcome: .warn, finding: "The list of old keys cannot be read: the store does not open.")
        }
        guard due > 0 else {
            return Check(name: name, outcome: .ok, finding: "No old key waits to be ended from here.")
        }
        let pending = await accounts.endRetiredKeys(within: .seconds(30))
        guard let first = pending.first else {
            return Check(
                name: name, outcome: .ok,
                finding: due == 1
                    ? "1 old key was ended at the key service just now."
                    : "\(due) old keys were ended at the key service just now.")
        }
        return Check(
            name: name, outcome: .warn,
            finding:
                "Old keys at \(first.keyServiceURL) that are not ended: \(pending.count). An old copy of the store still opens with its old secret.",
            advice: await advice(pending, vault, isKeyServiceDown: isKeyServiceDown))
    }

    /// What ends the keys. Some need a signature that only the account's vault key opens.
    private func advice(_ pending: [RetiredKey], _ vault: Vault, isKeyServiceDown: Bool) async -> String {
        var advice: [String] = []
        if pending.contains(where: { !$0.lacksSignature }) {
            advice.append(
                isKeyServiceDown
                    ? "When the key service answers again: vault doctor"
                    : "Check that the key service answers. Then run again: vault doctor")
        }
        let sealed = pending.filter(\.lacksSignature)
        // If the accounts cannot be read, nobody knows which of them are gone.
        guard !sealed.isEmpty, let known = try? await vault.storage.all() else { return advice.joined(separator: ". ") }
        for account in known where sealed.contains(where: { $0.account == account.id }) {
            let user = await vault.storage.userOption(of: account.id)
            advice.append("To end the keys of \(Printable.text(account.displayName)): vault login \(user)")
        }
        let lost = sealed.filter { key in !known.contains { $0.id == key.account } }.map(\.id)
        if !lost.isEmpty {
            advice.append(
                "The account was deleted, so only the operator can end its keys: \(Hints.operators("revoke", lost))")
        }
        return advice.joined(separator: ". ")
    }
}
