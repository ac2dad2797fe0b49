internal import CredentialVault

extension ServiceChecks {
    /// Shows the policy that is in force.
    func policy() -> Check {
        let name = "policy"
        do {
            guard let machine = try VaultPolicy.ofMachine() else {
                return Check(
                    name: name, outcome: .ok,
                    finding: "\(VaultPolicy.machineFile) is not there. \(Self.words(for: .standard))")
            }
            let policy = VaultPolicy.stricter(of: .standard, machine)
            let finding = "\(VaultPolicy.machineFile) holds. \(Self.words(for: policy))"
            let unknown = (policy.allowedWaysIn ?? []).subtracting(Self.kinds).map(\.rawValue).sorted()
            guard unknown.isEmpty else {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice:
                        "This program does not know: \(unknown.joined(separator: ", ")). Check the spelling in allowed-ways-in."
                )
            }
            guard policy.allows(.password) else {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice: "No account can be registered. To allow that, add password to allowed-ways-in.")
            }
            return Check(name: name, outcome: .ok, finding: finding)
        } catch {
            return failure(name, error, advice: "Until then no account opens.")
        }
    }

    private static let kinds = Set(Keyslot.Kind.known)

    private static func words(for policy: VaultPolicy) -> String {
        let days = policy.maximumOfflineDays.map { $0 == 1 ? "1 day" : "\($0) days" } ?? "no limit"
        let ways = policy.allowedWaysIn.map { $0.map(\.rawValue).sorted().joined(separator: ", ") } ?? "all"
        return
            "New PINs: at least \(policy.pinLength) characters. New passwords: at least \(policy.passwordLength). Longest time without the network: \(days). Ways in: \(ways.isEmpty ? "none" : ways)."
    }
}
