internal import VaultHTTP
public import VaultStorage

// The errors of what a policy refuses. An app calls these functions before it asks the person for a secret that would
// be of no use. Each call of the vault checks again.
extension VaultPolicy {
    /// Refuses an unlock method that this policy forbids.
    ///
    /// - Parameter kind: the kind of the unlock method that will be added or used.
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy` and a ``VaultError/policyObjection``: offer another unlock
    ///   method.
    public func requireAllowed(_ kind: Keyslot.Kind) throws {
        guard allows(kind) else { throw VaultError.forbidden(kind, by: self) }
    }

    /// Refuses an identity provider, backend or server that this policy forbids.
    ///
    /// - Parameters:
    ///   - issuer: the issuer URL or base URL.
    ///   - method: how an account signs in there; nil if it is not known yet.
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy` and a ``VaultError/policyObjection``: use an allowed
    ///   issuer.
    public func requireAllowed(issuer: String, method: SignInMethod? = nil) throws {
        guard !allows(issuer: issuer, method: method) else { return }
        let url = BaseURL.withoutUser(issuer)
        throw VaultError.forbidden("accounts of \(url)", url, by: .allowedIssuers, allowedIssuers)
    }

    /// Refuses a key service that this policy forbids.
    ///
    /// - Parameter url: the base URL of the key service, as configured; empty for no key service.
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy` and a ``VaultError/policyObjection``: use an allowed key
    ///   service. With the detail `noKeyService`, use a key service.
    public func requireAllowed(keyService url: String) throws {
        guard !allows(keyService: url) else { return }
        if url.isEmpty, let rule = ruleForKeyService { throw VaultError.needsKeyService(rule) }
        let url = BaseURL.withoutUser(url)
        throw VaultError.forbidden("the key service \(url)", url, by: .allowedKeyServices, allowedKeyServices)
    }

    /// Refuses an account whose identity provider or key service this policy forbids. No unlock method opens such an
    /// account.
    ///
    /// - Parameter account: a registered account.
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy` and a ``VaultError/policyObjection``: offer another
    ///   account.
    public func requireAllowedServers(of account: Account) throws {
        try requireAllowed(issuer: account.id.issuer, method: account.method)
        try requireAllowed(keyService: account.keyServiceURL)
    }

    /// Refuses backups if this policy forbids the unlock method `offline`: a backup opens without the key service.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy` and a ``VaultError/policyObjection``: do not offer backups.
    public func requireBackupsAllowed() throws {
        guard !allows(.offline) else { return }
        let (rule, allowed) = ruleAgainst(.offline)
        throw VaultError(
            PolicyObjection(
                rule, allowed: allowed, refused: Keyslot.Kind.offline.rawValue,
                "The policy forbids backups: a backup opens offline, and the policy allows no offline unlock method."))
    }
}

extension VaultPolicy {
    /// Returns the rule that forbids an unlock method, and what that rule allows.
    fileprivate func ruleAgainst(_ kind: Keyslot.Kind) -> (PolicyObjection.Rule, allowed: [String]) {
        guard !forbiddenUnlockMethods.contains(kind) else { return (.forbiddenUnlockMethods, []) }
        return (.allowedUnlockMethods, (allowedUnlockMethods ?? []).map(\.rawValue).sorted())
    }
}

extension VaultError {
    fileprivate static func needsKeyService(_ rule: PolicyObjection.Rule) -> VaultError {
        let objection = PolicyObjection(
            rule,
            "The policy forbids accounts without a key service (the rule \(rule.name) in \(VaultPolicy.machineFile), or of the app)."
        )
        return VaultError(
            .forbiddenByPolicy, objection.description, detail: .noKeyService, policyObjection: objection)
    }

    fileprivate static func forbidden(
        _ what: String, _ url: String, by rule: PolicyObjection.Rule, _ allowed: Set<String>?
    ) -> VaultError {
        let allowed = (allowed ?? []).sorted()
        let names = allowed.joined(separator: ", ")
        return VaultError(
            PolicyObjection(
                rule, allowed: allowed, refused: url,
                "The policy forbids \(what). The rule \(rule.name) (in \(VaultPolicy.machineFile), or of the app) allows: \(names.isEmpty ? "none" : names)."
            ))
    }

    static func forbidden(_ kind: Keyslot.Kind, by policy: VaultPolicy) -> VaultError {
        let (rule, allowed) = policy.ruleAgainst(kind)
        let names = allowed.joined(separator: ", ")
        let more = rule == .allowedUnlockMethods ? " It allows: \(names.isEmpty ? "none" : names)." : ""
        return VaultError(
            PolicyObjection(
                rule, allowed: allowed, refused: kind.rawValue,
                "The policy forbids this unlock method: \(kind.rawValue).\(more)"))
    }
}
