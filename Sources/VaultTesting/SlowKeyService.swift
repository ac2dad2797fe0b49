public import KeyServiceClient
public import VaultCrypto

/// A slow key service: each call waits on a clock first.
public struct SlowKeyService: KeyService {
    private let base: any KeyService
    private let delay: Duration
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - base: the key service that does the work.
    ///   - delay: the wait of each call.
    ///   - clock: ``ManualContinuousClock`` for a test that controls the end of the wait.
    public init(_ base: any KeyService, delay: Duration, clock: any Clock<Duration>) {
        self.base = base
        self.delay = delay
        self.clock = clock
    }

    /// Waits, then makes a key at the service behind it.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits. Errors of the service behind it.
    public func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        try await clock.sleep(for: delay)
        return try await base.createKey(secret: secret)
    }

    /// Waits, then asks the service behind it for the key. A guess that is cancelled while it waits does not count.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits. Errors of the service behind it.
    public func releaseKey(
        id: String, secret: borrowing SecretBytes, kind: KeySecretKind
    ) async throws -> ReleasedKey {
        try await clock.sleep(for: delay)
        return try await base.releaseKey(id: id, secret: secret, kind: kind)
    }

    /// Waits, then asks the service behind it.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits. Errors of the service behind it.
    public func checkReachable() async throws {
        try await clock.sleep(for: delay)
        try await base.checkReachable()
    }

    /// Waits, then ends the key at the service behind it.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits. Errors of the service behind it.
    public func endKey(id: String) async throws {
        try await clock.sleep(for: delay)
        try await base.endKey(id: id)
    }
}
