package import Foundation
package import VaultStorage

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
