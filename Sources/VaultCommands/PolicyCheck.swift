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
            for (rule, listed) in [
                ("allowed-unlock-methods", policy.allowedUnlockMethods ?? []),
                ("forbidden-unlock-methods", policy.forbiddenUnlockMethods),
            ] {
                let unknown = listed.subtracting(Self.kinds).map(\.rawValue).sorted()
                guard unknown.isEmpty else {
                    return Check(
                        name: name, outcome: .warn, finding: finding,
                        advice:
                            "\(rule) has names that this program does not know: \(unknown.joined(separator: ", ")). Correct them."
                    )
                }
            }
            guard policy.allows(.password) else {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice: "Nobody can register an account. To allow that, add password to allowed-unlock-methods.")
            }
            if let issuer = settings[.issuer], !policy.allows(issuer: issuer) {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice:
                        "The policy does not allow the issuer of the settings. To set another: vault config set issuer URL"
                )
            }
            if let url = settings[.keyService], !policy.allows(keyService: url) {
                return Check(
                    name: name, outcome: .warn, finding: finding,
                    advice:
                        "The policy does not allow the key service of the settings. To set another: vault config set key-service URL"
                )
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
        let allowed = policy.allowedUnlockMethods?.subtracting(policy.forbiddenUnlockMethods)
        let forbidden = policy.forbiddenUnlockMethods.map(\.rawValue).sorted().joined(separator: ", ")
        let methods =
            allowed.map { $0.map(\.rawValue).sorted().joined(separator: ", ") }
            ?? (forbidden.isEmpty ? "all" : "all but \(forbidden)")
        return
            "New PINs: at least \(policy.pinLength) characters. New passwords: at least \(policy.passwordLength). Longest time without the network: \(days). Unlock methods: \(methods.isEmpty ? "none" : methods)."
            + policy.limits.map { " \($0)" }.joined()
    }
}

extension VaultPolicy {
    /// The limits that this policy sets, one sentence for each. Most machines have none.
    fileprivate var limits: [String] {
        var sentences: [String] = []
        if let sessionLimit { sentences.append("A session ends \(sessionLimit).") }
        for (name, urls) in [("Issuers", allowedIssuers), ("Key services", allowedKeyServices)] {
            guard let urls else { continue }
            sentences.append("\(name): \(urls.isEmpty ? "none" : urls.sorted().joined(separator: ", ")).")
        }
        if requiresKeyService { sentences.append("Each account needs a key service.") }
        if let version = keyServiceProtocol {
            sentences.append("Lowest version of the key service's protocol: \(version).")
        }
        if let keys = keyServiceKeys {
            sentences.append("Identity keys of the key service: \(keys.sorted().joined(separator: ", ")).")
        }
        if let hours = revocationCheckHours {
            sentences.append(
                "Longest time without an answer of the key service: \(hours == 1 ? "1 hour" : "\(hours) hours").")
        }
        return sentences
    }

    /// The rule that forbids the account by its servers; nil if none does.
    func rule(against account: Account) -> String? {
        guard allows(issuer: account.id.issuer, method: account.method) else { return "allowed-issuers" }
        guard !allows(keyService: account.keyServiceURL) else { return nil }
        return account.hasKeyService ? "allowed-key-services" : ruleForKeyService?.name ?? ""
    }

    /// The latest time at which a session ends; nil for no limit.
    var sessionLimit: String? {
        let idle = maximumIdleMinutes.map { "after \($0 == 1 ? "1 minute" : "\($0) minutes") without use" }
        let whole = maximumSessionHours.map { "\($0 == 1 ? "1 hour" : "\($0) hours") after the login" }
        let limits = [idle, whole].compactMap(\.self)
        return limits.isEmpty ? nil : limits.joined(separator: ", and ")
    }
}
