internal import VaultStorage

// A store notes that a policy applies to it. So a program in a user namespace, which may not see the policy, adds no
// way in that the policy may forbid.
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
