/// The hold on one account's lock, which ``SecureStore/withLock(on:_:)`` gives to its closure. The lock lasts as long as
/// this value: keep it to keep everybody else off the account after the closure has returned.
public final class AccountLock: Sendable {
    private let release: @Sendable () -> Void

    /// - Parameter release: ends the lock. It is called once, on any thread, and must not wait.
    public init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
