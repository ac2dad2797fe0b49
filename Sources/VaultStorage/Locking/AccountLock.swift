/// The hold on one account's lock. ``SecureStore/withLock(on:_:)`` gives it to its closure. The lock lasts as long as
/// this value: keep the value to keep the lock after the closure has returned.
public final class AccountLock: Sendable {
    private let release: @Sendable () -> Void

    /// - Parameter release: ends the lock. It is called once, on any thread, and must not wait.
    public init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
