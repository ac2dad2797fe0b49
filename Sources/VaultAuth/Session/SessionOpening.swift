internal import Foundation
internal import VaultStorage
internal import VaultUnlock

/// The facts about the opening of an account that a later policy may forbid.
package struct SessionOpening: Sendable {
    private let account: Account
    /// The keyslot that opened the account. If it is not known, all keyslots that may have opened it.
    private let keyslots: [Keyslot]
    /// The time without the network before the opening, if the key service was not asked.
    private let offlineAge: Duration?

    /// - Parameters:
    ///   - account: the account as it is stored now.
    ///   - keyslot: the keyslot that opened it. Nil if another program opened it: then the keyslot that was used last
    ///     counts, because the store notes each use.
    ///   - policy: the policy under which it was opened; nil for none. Only a keyslot that this policy allows
    ///     can have opened it.
    ///   - now: the time of the opening.
    init(of account: Account, keyslot: Keyslot?, under policy: VaultPolicy?, at now: Date) {
        self.account = account
        let allowed = account.keyslots.filter { policy?.allows($0) ?? true }
        let lastUse = allowed.compactMap(\.lastUsedAt).max()
        keyslots = keyslot.map { [$0] } ?? (lastUse == nil ? allowed : allowed.filter { $0.lastUsedAt == lastUse })
        let wasOffline = !keyslots.isEmpty && keyslots.allSatisfy { !$0.needsKeyService }
        let age = now.timeIntervalSince(account.lastOnlineAt ?? account.createdAt)
        // At most 30,000 years, as the store may have any time, and a `Duration` cannot.
        offlineAge = wasOffline ? .seconds(min(max(0, age), 1e12)) : nil
    }

    /// Whether a policy allows the account's servers and the unlock method.
    func isAllowed(by policy: VaultPolicy) -> Bool {
        policy.allowsServers(of: account) && keyslots.allSatisfy(policy.allows)
    }

    /// Returns the time for which the session may stay open without the network; nil for no limit.
    func offlineTime(under policy: VaultPolicy) -> Duration? {
        guard let offlineAge, let days = policy.maximumOfflineDays else { return nil }
        return max(.zero, .seconds(days * 86_400) - offlineAge)
    }
}
