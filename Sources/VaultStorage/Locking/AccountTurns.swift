internal import VaultLocks

/// Lets one task of this program at a time work on an account. The store's lock cannot do it alone, as it may be kept.
final class AccountTurns: Sendable {
    private let taken = Lock<Set<AccountID>>([])
    private let clock: any Clock<Duration>

    /// - Parameter clock: counts the wait.
    init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

    /// Waits for the account to be free. It asks again and again, so that the wait has an end and can be cancelled.
    ///
    /// - Throws: ``VaultError`` with code `busy` when it is not free within a minute.
    func take(_ id: AccountID) async throws {
        var waited = Duration.zero
        var pause = Duration.milliseconds(2)
        while !taken.withLock({ $0.insert(id).inserted }) {
            guard waited < .seconds(60) else {
                throw VaultError(.busy, "This program has been working on the account for a minute. Try again.")
            }
            try await clock.sleep(for: pause)
            waited += pause
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    func end(_ id: AccountID) {
        taken.withLock { _ = $0.remove(id) }
    }
}
