internal import VaultBase

/// Lets one task of this program at a time work on an account. The store's lock alone is not enough, as a task may keep
/// it.
final class AccountLocks: Sendable {
    private let taken = Lock<Set<AccountID>>([])
    private let clock: any Clock<Duration>

    init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

    /// Waits until the account is free. It polls, so that the wait ends after a minute and can be cancelled.
    ///
    /// - Throws: ``VaultError`` with code `busy` if the account is not free within a minute: try again.
    func take(_ id: AccountID) async throws {
        var waited = Duration.zero
        var pause = Duration.milliseconds(2)
        while !taken.withLock({ $0.insert(id).inserted }) {
            guard waited < .seconds(60) else {
                throw VaultError(.busy, "Another task of this program has used the account for a minute. Try again.")
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
