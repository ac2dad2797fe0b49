package import VaultCrypto
package import VaultStorage

extension Accounts {
    /// Refuses unlock methods that the policy forbids.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`.
    package func requireAllowed(_ kinds: Keyslot.Kind...) throws {
        for kind in kinds { try policy.requireAllowed(kind) }
    }

    /// Refuses an account whose identity provider or key service the policy forbids.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`.
    package func requireAllowedServers(of account: Account) throws { try policy.requireAllowedServers(of: account) }

    /// Refuses an identity provider, backend or server that the policy forbids.
    ///
    /// - Parameter method: how an account signs in there; nil if it is not known yet.
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`.
    package func requireAllowed(issuer: String, method: SignInMethod? = nil) throws {
        try policy.requireAllowed(issuer: issuer, method: method)
    }

    /// Refuses a key service that the policy forbids.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`.
    package func requireAllowed(keyService url: String) throws { try policy.requireAllowed(keyService: url) }

    /// Refuses a version of the key service's protocol that the policy forbids.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`.
    func requireAllowed(keyServiceProtocol version: Int) throws {
        guard !policy.allows(keyServiceProtocol: version) else { return }
        let required = policy.keyServiceProtocol ?? 2
        throw VaultError(
            PolicyObjection(
                .keyServiceProtocol, number: required, refused: "\(version)",
                "The policy requires version \(required) of the key service's protocol (the rule key-service-protocol). This unlock method or key service has version \(version)."
            ))
    }

    /// Refuses a new password that is empty or too short for the policy.
    ///
    /// - Parameter password: UTF-8.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy`.
    func requireNewPassword(_ password: borrowing SecretBytes) throws {
        try requireAllowed(.password)
        guard password.count > 0 else { throw VaultError(SecretObjection.empty(.password)) }
        if let objection = policy.objection(toPassword: password) { throw VaultError(tooShortForPolicy: objection) }
    }

    /// Refuses a new PIN that is empty or too short for the policy.
    ///
    /// - Parameter pin: UTF-8.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy`.
    package func requireNewPIN(_ pin: borrowing SecretBytes) throws { try policy.requireNewPIN(pin) }

    /// Whether the account has an unlock method that needs no key service and that the policy allows.
    package func opensOffline(_ account: Account) -> Bool {
        account.keyslots.contains { !$0.needsKeyService && policy.allows($0) }
    }
}

extension VaultPolicy {
    /// Whether the account's identity provider and key service are allowed.
    package func allowsServers(of account: Account) -> Bool {
        allows(issuer: account.id.issuer, method: account.method) && allows(keyService: account.keyServiceURL)
    }

    /// Refuses a new PIN that is forbidden, empty or too short for this policy.
    ///
    /// - Parameter pin: UTF-8.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy`.
    fileprivate func requireNewPIN(_ pin: borrowing SecretBytes) throws {
        guard allows(.pin) else { throw VaultError.forbidden(.pin, by: self) }
        try requireLength(ofPIN: pin)
    }

    func requireLength(ofPIN pin: borrowing SecretBytes) throws {
        guard pin.count > 0 else { throw VaultError(SecretObjection.empty(.pin)) }
        if let objection = objection(toPIN: pin) { throw VaultError(tooShortForPolicy: objection) }
    }
}

// A store notes that a policy applies to it. So a program in a user namespace, which may not see the policy, adds no
// unlock method that the policy may forbid.
extension Accounts {
    private static let policyNote = "machine-policy"

    /// Notes whether the machine has a policy. In a user namespace nobody can tell, so the note stays as it is. An
    /// error of the store keeps nobody out: the next login notes it.
    func notePolicy() async {
        guard knowsAllUsers else { return }
        let note: [UInt8]? = obeyed.latest.machine == nil ? nil : [1]
        _ = try? await store.withRecord(Self.policyNote) { $0 = note }
    }

    /// Refuses a new unlock method if the store was used under a policy, and this process may not see that policy.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`, or ``StoreError``.
    func requirePolicyInSight() async throws {
        guard !knowsAllUsers, try await store.withRecord(Self.policyNote, { $0 != nil }) else { return }
        throw VaultError(
            .forbiddenByPolicy,
            "These accounts are under the policy of this machine. This program runs in a user namespace, where \(VaultPolicy.machineFile) can be hidden or replaced. So no unlock method is added here. Try again outside the namespace."
        )
    }
}
