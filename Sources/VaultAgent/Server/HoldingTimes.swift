internal import VaultAgentProtocol
internal import VaultAuth

/// The times at which a session must be locked, as times of a ``SteadyClock``.
struct HoldingTimes: Sendable {
    private let idle: Duration?
    private let lifetime: Duration?
    private let began: Duration
    private var lastUse: Duration

    init(_ rules: HoldingRules, now: Duration) {
        idle = rules.idleSeconds == 0 ? nil : .seconds(Int64(rules.idleSeconds))
        lifetime = rules.lifetimeSeconds == 0 ? nil : .seconds(Int64(rules.lifetimeSeconds))
        began = now
        lastUse = now
    }

    /// Notes that somebody used the session.
    mutating func use(now: Duration) { lastUse = now }

    func idleLeft(now: Duration) -> Duration? { idle.map { max(.zero, lastUse + $0 - now) } }

    func lifetimeLeft(now: Duration) -> Duration? { lifetime.map { max(.zero, began + $0 - now) } }

    /// The time of the next check; nil if there is no limit.
    var end: Duration? { [idle.map { lastUse + $0 }, lifetime.map { began + $0 }].compactMap(\.self).min() }

    /// Returns the reason why the session must be locked now; nil if it may go on.
    func overdue(now: Duration) -> SessionUpdate.Reason? {
        if lifetimeLeft(now: now) == .zero { return .lifetime }
        return idleLeft(now: now) == .zero ? .idle : nil
    }
}
