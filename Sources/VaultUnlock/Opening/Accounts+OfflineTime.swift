package import Foundation
internal import VaultBase
package import VaultStorage

// An account opens without the network only for some days after it was online.
extension Accounts {
    /// The end of the time in which the account opens without the network; it may be over. Nil if the account has no
    /// offline unlock method, or if the policy forbids it. Nil also for an account without a key service, because
    /// nothing could open it afterwards.
    package func endOfOpeningOffline(_ account: Account) -> Date? {
        account.hasKeyService && opensOffline(account)
            ? (account.lastOnlineAt ?? account.createdAt) + offlineMaximumAge : nil
    }

    /// Refuses to open an account without the network if it was online too long ago.
    ///
    /// - Throws: ``VaultError`` with code `offlineTooLong`: log in with the network.
    func requireRecentlyOnline(_ account: Account) throws {
        let (now, last) = (clock.now, account.lastOnlineAt ?? account.createdAt)
        // A clock that was set back to before the registration does not extend the time.
        guard now <= last + offlineMaximumAge, now >= account.createdAt - 86_400 else {
            throw offlineTooLong(account, since: last, seen: now)
        }
    }

    /// Refuses an account that was opened without a server, if the provider confirmed it too long ago by the highest
    /// time that was seen. Notes the time.
    ///
    /// - Returns: the change that notes the time; empty if it cannot be noted. An error of the store must not keep the
    ///   person out.
    /// - Throws: ``VaultError`` with code `offlineTooLong`: log in with the network. Without a server also
    ///   ``StoreError``, if the record cannot be read.
    func seeClock(_ opened: OpenedKeyslot, _ slot: Keyslot, of account: Account) async throws -> [StoreChange] {
        guard account.hasKeyService else { return [] }
        let items = TokenItems(store: store, id: account.id, vaultKey: opened.vaultKey)
        let now = clock.now
        var seen: SeenClock
        do {
            seen = try await items.seenClock() ?? SeenClock(now: now)
        } catch {
            // A record that cannot be read now is not replaced.
            if slot.needsKeyService { return [] }
            throw error
        }
        if !slot.needsKeyService {
            seen.usedOffline(now: now)
            try requireRecentlyOnline(account, by: seen)
        } else if let time = opened.serviceTime {
            seen.keyServiceAnswered(at: time, now: now)
        } else {
            return []
        }
        return (try? await items.put(seen)).map { [$0] } ?? []
    }

    private func requireRecentlyOnline(_ account: Account, by seen: SeenClock) throws {
        let last = seen.onlineAt ?? account.lastOnlineAt ?? account.createdAt
        guard seen.highest > last + offlineMaximumAge else { return }
        throw offlineTooLong(account, since: last, seen: seen.highest)
    }

    /// - Parameter seen: the highest time that was seen.
    private func offlineTooLong(_ account: Account, since last: Date, seen: Date) -> VaultError {
        let days = policy.maximumOfflineDays
        let isOfPolicy = days.map { Double($0) * 86_400 } == offlineMaximumAge
        let rule = "The policy allows \(days == 1 ? "1 day" : "\(days ?? 0) days")."
        let advice = (isOfPolicy ? rule + " " : "") + "Connect to the network, and log in with another unlock method."
        let earlier =
            seen > clock.now + 3600
            ? " The clock of this machine was set back: it showed \(seen.localText) before." : ""
        return VaultError(
            .offlineTooLong,
            "\(account.displayName) was last online on \(last.localText). This is too long ago to open it without the network.\(earlier) \(advice)",
            policyObjection: isOfPolicy ? PolicyObjection(.maximumOfflineDays, number: days, rule) : nil)
    }
}

/// The highest time that was seen of an account. The days without the network count from it: if the clock is set back,
/// they go on where they were. It is sealed under the vault key, so that nobody else can lower it.
struct SeenClock: Codable, Sendable {
    /// The highest time since the last contact with a server, and all that passed after the clock was set back.
    private(set) var highest: Date
    /// The time of the provider's last confirmation, as far as possible by a server's clock; nil in a store that an older
    /// version wrote.
    private(set) var onlineAt: Date?
    /// The time of this machine's clock at the last change.
    private var ownTime: Date
    /// How far this machine's clock was ahead of a server's clock at the last comparison, in seconds.
    private var ahead: TimeInterval = 0

    init(now: Date) { (highest, ownTime) = (now, now) }

    /// The key service answered: its time counts, also if the highest time was later.
    mutating func keyServiceAnswered(at time: Date, now: Date) {
        (highest, ownTime, ahead) = (time, now, now.timeIntervalSince(time))
        // A contact in the service's future was noted by a clock that was ahead.
        onlineAt = onlineAt.map { min($0, time) }
    }

    /// The provider confirmed the account.
    ///
    /// - Parameter time: the time by the provider's clock; nil if the provider did not tell.
    mutating func providerConfirmed(at time: Date?, now: Date) {
        if let time { ahead = now.timeIntervalSince(time) }
        // If this machine's clock was corrected since the comparison, the correction is too much.
        let corrected = now - ahead < onlineAt ?? .distantPast ? now : now - ahead
        // A server's clock that is ahead must not lengthen the days.
        let online = time ?? min(now, corrected)
        (onlineAt, highest, ownTime) = (online, online, now)
    }

    /// The account was opened without a server.
    mutating func usedOffline(now: Date) {
        highest = max(now, highest + max(0, now.timeIntervalSince(ownTime)))
        ownTime = now
    }
}

extension TokenItems {
    /// Returns the record; nil if there is none, or if it is damaged: somebody who can damage it can also remove it.
    func seenClock() async throws -> SeenClock? {
        guard let sealed = try await store.item(.seenClock, of: id),
            let content = try? await vaultKey.open(sealed, as: .seenClock, of: id)
        else { return nil }
        return try? JSONDecoder().decode(SeenClock.self, from: Data(content))
    }

    func put(_ clock: SeenClock) async throws -> StoreChange {
        let content = try await vaultKey.seal(Array(JSONEncoder().encode(clock)), as: .seenClock, of: id)
        return .putItem(.seenClock, content)
    }

    /// Notes that the provider has just confirmed the account.
    ///
    /// - Parameter time: the time by the provider's clock; nil if the provider did not tell.
    /// - Returns: the change that notes it; empty after an error: the tokens of the confirmation must not get lost.
    package func confirmed(at time: Date?, now: Date) async -> [StoreChange] {
        do {
            var clock = try await seenClock() ?? SeenClock(now: now)
            clock.providerConfirmed(at: time, now: now)
            return [try await put(clock)]
        } catch {
            return []
        }
    }
}
