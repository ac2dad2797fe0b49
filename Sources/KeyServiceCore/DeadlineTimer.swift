internal import Dispatch
internal import VaultBase

/// A caller that waits until its deadline at most.
struct Waiter: Sendable {
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Void, any Error>
}

extension [Waiter] {
    /// The first deadline; nil if nobody waits.
    var firstDeadline: ContinuousClock.Instant? { lazy.map(\.deadline).min() }

    /// Removes the callers whose time is up, and returns them.
    mutating func removeLate(at now: ContinuousClock.Instant) -> [Waiter] {
        let late = filter { now >= $0.deadline }
        if !late.isEmpty { removeAll { now >= $0.deadline } }
        return late
    }
}

/// The timer for the deadlines of many callers. It wakes up at the first deadline, and not once for each caller.
///
/// It uses neither the threads of Swift's tasks nor those of a store, because these may hang.
final class DeadlineTimer: Sendable {
    /// The longest sleep, so that no deadline is too far away for the system's timers.
    private static let longestSleep = Duration.seconds(3600)

    private let due = Lock<ContinuousClock.Instant?>(nil)

    /// Calls `look` at a deadline, unless it is called earlier for another one.
    ///
    /// - Parameter look: answers the callers whose time is up, and returns the first deadline of the others; nil if
    ///   nobody waits.
    func set(_ deadline: ContinuousClock.Instant, _ look: @escaping @Sendable () -> ContinuousClock.Instant?) {
        let isFirst = due.withLock { due in
            if let due, due <= deadline { return false }
            due = deadline
            return true
        }
        guard isFirst else { return }
        let sleep = min(max(ContinuousClock.now.duration(to: deadline), .zero), Self.longestSleep).components
        let nanoseconds = Int(sleep.seconds) * 1_000_000_000 + Int(sleep.attoseconds / 1_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [self] in
            let isCurrent = due.withLock { due in
                guard due == deadline else { return false }
                due = nil
                return true
            }
            if isCurrent, let next = look() { set(next, look) }
        }
    }
}
