internal import VaultBase

/// Tells when a program may stop. Use `Vault.auth.stopGuard`.
///
/// A program must not stop between a token's renewal and its storage: the old token no longer works then, and the new
/// one would be lost. Nor should it stop between a guess at the key service and the storage of its confirmation: a
/// right guess would then count as wrong. On SIGTERM, call ``close()``. If it returns true, end the program. Otherwise
/// wait with ``whenIdle(_:)``, then try again.
public final class StopGuard: Sendable {
    private struct State {
        var running = 0
        /// The guesses at the key service among `running`.
        var guesses = 0
        var isClosed = false
        var isStopping = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())

    /// Makes the guard of a program that renews nothing, for an app's own `AuthProtocol`. It never waits.
    public init() {}

    /// Whether a stop right now could lose a token or cost a guess.
    public var isActive: Bool { state.withLock { $0.running > 0 } }

    /// Whether a stop right now could cost a guess at the key service.
    public var isFinishingGuess: Bool { state.withLock { $0.guesses > 0 } }

    /// Calls `action` once, as soon as a stop can lose no token and cost no guess, perhaps at once. The call may be on
    /// any thread. Then call ``close()``, which returns false again if another renewal or guess has begun meanwhile.
    ///
    /// A renewed token that is not stored yet can be lost until a session stores it (see `Session.holdsUnstoredToken`).
    /// Call `accessToken()` again until then.
    public func whenIdle(_ action: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.running > 0 { state.waiters.append(action) }
            return state.running == 0
        }
        if isIdle { action() }
    }

    /// Stops all further renewals and guesses. Call it right before the end of the process: whatever wants to renew a
    /// token or to open an account then fails with the code `cancelled`.
    ///
    /// - Returns: false if a stop right now could lose a token or cost a guess. Then renewals go on, and nothing waits
    ///   for a busy key service any more.
    public func close() -> Bool {
        state.withLock { state in
            state.isStopping = true
            if state.running == 0 { state.isClosed = true }
            return state.isClosed
        }
    }

    /// Runs a renewal that a stop must not cut off.
    ///
    /// - Throws: `CancellationError` after ``close()``. A caller that waited instead would keep the account's lock from
    ///   other programs until the process ends.
    package func run<R>(_ body: () async throws -> R) async throws -> R {
        try begin()
        defer { leave() }
        return try await body()
    }

    /// Runs a guess at the key service to its end, although its caller is cancelled. A cancelled caller gets
    /// `CancellationError` afterwards, unless `body` throws another error.
    ///
    /// - Parameter body: gets a function that tells whether nobody waits for the result any more.
    /// - Throws: as ``run(_:)``.
    package func finishing<R: Sendable>(
        _ body: @escaping @Sendable (_ isStopping: @escaping @Sendable () -> Bool) async throws -> R
    ) async throws -> R {
        try begin()
        let isCancelled = Lock(false)
        let task = Task {
            defer { leave() }
            state.withLock { $0.guesses += 1 }
            defer { state.withLock { $0.guesses -= 1 } }
            return try await body { isCancelled.withLock { $0 } || self.state.withLock { $0.isStopping } }
        }
        let result = try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
        try Task.checkCancellation()
        return result
    }

    private func begin() throws {
        try state.withLock { state in
            guard !state.isClosed else { throw CancellationError() }
            state.running += 1
        }
    }

    private func leave() {
        let waiters = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [@Sendable () -> Void]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Keeps the program from stopping while a token is only in memory. The hold ends with this value.
    final class Hold: Sendable {
        private let owner: StopGuard

        /// Must be called during ``StopGuard/run(_:)``, or while another hold lasts.
        init(_ owner: StopGuard) {
            self.owner = owner
            owner.state.withLock { $0.running += 1 }
        }

        deinit { owner.leave() }
    }
}
