internal import CredentialVault

extension ServiceChecks {
    /// Shows the policy that is in force.
    func policy() -> Check {
        let name = "policy"
        do {
            guard let machine = try VaultPolicy.ofMachine() else {
                return Check(
                    name: name, outcome: .ok,
                    finding: "There is no file \(VaultPolicy.machineFile). \(words(for: .standard))")
            }
            let policy = VaultPolicy.stricter(of: .standard, machine)
            let finding = "\(VaultPolicy.machineFile) applies. \(words(for: policy))"
            let unknown = (policy.allowedWaysIn ?? []).subtracting(Self.kinds).map(\.rawValue).sorted()
            guard unknown.isEmpty else {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice:
                        "allowed-ways-in has names that this program does not know: \(unknown.joined(separator: ", ")). Correct them."
                )
            }
            guard policy.allows(.password) else {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice: "Nobody can register an account. To allow that, add password to allowed-ways-in.")
            }
            return Check(name: name, outcome: .ok, finding: finding)
        } catch {
            return failure(name, error, advice: "No account opens until the file is corrected.")
        }
    }

    private static let kinds = Set(Keyslot.Kind.known)

    private func words(for policy: VaultPolicy) -> String {
        let setting = Int(settings[.offlineMaxAge] ?? "") ?? 14
        let limit = min(policy.maximumOfflineDays ?? setting, setting)
        let days = limit == 1 ? "1 day" : "\(limit) days"
        let ways = policy.allowedWaysIn.map { $0.map(\.rawValue).sorted().joined(separator: ", ") } ?? "all"
        return
            "New PINs: at least \(policy.pinLength) characters. New passwords: at least \(policy.passwordLength). Longest time without the network: \(days). Ways in: \(ways.isEmpty ? "none" : ways)."
    }
}
