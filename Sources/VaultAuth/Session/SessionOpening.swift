internal import Foundation
internal import VaultStorage
internal import VaultUnlock

/// The facts about the opening of an account that a later policy may forbid.
package struct SessionOpening: Sendable {
    private let account: Account
    /// The way in that opened the account. If it is not known, all ways in that may have opened it.
    private let ways: [Keyslot]
    /// The time without the network before the opening, if the key service was not asked.
    private let offlineAge: Duration?

    /// - Parameters:
    ///   - account: the account as it is stored now.
    ///   - way: the way in that opened it. Nil if another program opened it: then the way in that was used last counts,
    ///     because the store notes each use.
    ///   - policy: the policy under which it was opened; nil for none. Only a way in that this policy allows can have
    ///     opened it.
    ///   - now: the time of the opening.
    init(of account: Account, way: Keyslot?, under policy: VaultPolicy?, at now: Date) {
        self.account = account
        let allowed = account.keyslots.filter { policy?.allows($0) ?? true }
        let lastUse = allowed.compactMap(\.lastUsedAt).max()
        ways = way.map { [$0] } ?? (lastUse == nil ? allowed : allowed.filter { $0.lastUsedAt == lastUse })
        let wasOffline = !ways.isEmpty && ways.allSatisfy { !$0.needsKeyService }
        let age = now.timeIntervalSince(account.lastOnlineAt ?? account.createdAt)
        offlineAge = wasOffline ? .seconds(max(0, age)) : nil
    }

    /// Whether a policy allows the account's servers and the way in.
    func isAllowed(by policy: VaultPolicy) -> Bool {
        policy.allowsServers(of: account) && ways.allSatisfy(policy.allows)
    }

    /// Returns the time for which the session may stay open without the network; nil for no limit.
    func offlineTime(under policy: VaultPolicy) -> Duration? {
        guard let offlineAge, let days = policy.maximumOfflineDays else { return nil }
        return max(.zero, .seconds(days * 86_400) - offlineAge)
    }
}
