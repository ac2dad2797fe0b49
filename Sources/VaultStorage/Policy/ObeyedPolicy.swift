internal import VaultBase

/// The policy that a program obeys: its own, and the machine's as it is now.
///
/// An administrator may change the machine's policy while a program runs. So code asks here each time, and keeps no copy.
/// A look at an unchanged file costs two calls of stat(2): see ``WatchedPolicy``.
package final class ObeyedPolicy: Sendable {
    /// The policies at one moment.
    package struct Reading: Sendable {
        /// The stricter rule of each kind.
        package let policy: VaultPolicy
        /// The machine's own policy; nil if it has none.
        package let machine: VaultPolicy?
        /// A number that grows with each change.
        package let number: Int

        fileprivate init(_ own: VaultPolicy, _ machine: VaultPolicy?, number: Int) {
            // Most machines have none. Then no table of rules is made.
            policy = machine.map { VaultPolicy.stricter(of: own, $0) } ?? own
            self.machine = machine
            self.number = number
        }
    }

    private let own: VaultPolicy
    private let watched: WatchedPolicy?
    private let last: Lock<Reading>

    /// Makes a policy that does not change.
    ///
    /// - Parameters:
    ///   - machine: the machine's policy; nil if it has none.
    package init(_ own: VaultPolicy, machine: VaultPolicy? = nil) {
        self.own = own
        watched = nil
        last = Lock(Reading(own, machine, number: 0))
    }

    /// Makes a policy that changes with the machine's.
    ///
    /// - Throws: as ``WatchedPolicy/current()``.
    package init(_ own: VaultPolicy, watching watched: WatchedPolicy) throws {
        self.own = own
        self.watched = watched
        let first = try watched.current()
        last = Lock(Reading(own, first.policy, number: first.number))
    }

    /// A number that stays the same for at most 10 milliseconds, as long as no policy may change; nil if a policy may
    /// change at any time, or never.
    package var tick: Int? { watched?.presentTick }

    /// Returns the policies if they have changed, at the latest 10 milliseconds after the change.
    ///
    /// - Parameter number: the number of the reading that the caller has.
    package func change(since number: Int) -> Reading? { self.number == number ? nil : latest }

    /// The number of the policies in force, at the latest 10 milliseconds after a change.
    package var number: Int { (try? watched?.recentNumber()) ?? last.withLock { $0.number } }

    /// The policies as they are now. While the machine's file cannot be used, the last ones that could be read: so a
    /// typing mistake switches off no rule.
    package var latest: Reading {
        guard let now = try? watched?.current() else { return last.withLock { $0 } }
        return last.withLock { last in
            // Another thread may have seen a later one.
            if now.number > last.number { last = Reading(own, now.policy, number: now.number) }
            return last
        }
    }
}
