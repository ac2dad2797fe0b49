internal import Foundation

/// The machine that a store is used on, as far as its policy depends on it.
package struct PolicyPlace: Sendable {
    /// The machine's policy; nil if it has none.
    package var policy: VaultPolicy?
    /// Whether this process sees the machine's users as they are. In a user namespace of its own, each user can be root,
    /// and can hide or replace the policy.
    package var knowsAllUsers: Bool

    /// - Parameters:
    ///   - policy: the machine's policy; nil if it has none.
    ///   - knowsAllUsers: whether all users are mapped to themselves.
    package init(policy: VaultPolicy?, knowsAllUsers: Bool = Self.knowsAllUsers) {
        self.policy = policy
        self.knowsAllUsers = knowsAllUsers
    }

    /// Whether all users are mapped to themselves (user_namespaces(7)), as outside containers.
    package static var knowsAllUsers: Bool {
        let map = FileManager.default.contents(atPath: "/proc/self/uid_map").map { String(decoding: $0, as: UTF8.self) }
        return map?.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
    }
}

// A store notes that a policy applies to it. So a program in a user namespace, which may not see the policy, adds no way
// in that the policy may forbid.
extension Accounts {
    private static let policyNote = "machine-policy"

    /// Notes whether the machine has a policy. In a user namespace nobody can tell, so the note stays as it is. An error
    /// of the store keeps nobody out: the next login notes it.
    func notePolicy() async {
        guard place.knowsAllUsers else { return }
        let note: [UInt8]? = place.policy == nil ? nil : [1]
        _ = try? await store.withRecord(Self.policyNote) { $0 = note }
    }

    /// Refuses a new way in if the store was used under a policy, and this process may not see that policy.
    ///
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy`, or ``StoreError``.
    func requirePolicyInSight() async throws {
        guard !place.knowsAllUsers, try await store.withRecord(Self.policyNote, { $0 != nil }) else { return }
        throw VaultError(
            .forbiddenByPolicy,
            "These accounts are under the policy of this machine. This program runs in a user namespace, where \(VaultPolicy.machineFile) can be hidden or replaced. So no way in is added here. Try again outside the namespace."
        )
    }
}
