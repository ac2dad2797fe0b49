internal import CredentialVault

extension ServiceChecks {
    /// Ends the keys of ways in that are gone, where that could not be done before.
    func oldKeys() async -> Check {
        let name = "old keys"
        guard let accounts = try? await Vault(settings.configuration()).storage.accounts else {
            return Check(name: name, outcome: .warn, finding: "They are listed in the store, which does not open.")
        }
        let due = await accounts.retiredKeys().count
        guard due > 0 else {
            return Check(name: name, outcome: .ok, finding: "All keys that are no longer used were ended.")
        }
        let pending = await accounts.endRetiredKeys(within: .seconds(30))
        guard let first = pending.first else {
            return Check(name: name, outcome: .ok, finding: "Ended at the key service just now: \(due).")
        }
        return Check(
            name: name, outcome: .warn,
            finding:
                "Still to be ended at \(first.keyServiceURL): \(pending.count). Until then an old copy of the store opens with an old secret.",
            advice: "Check that the key service answers, then again: vault doctor")
    }
}
