internal import VaultLocks

/// Tells when a program may stop. It may not stop while it renews a token, until the new token is stored: the old
/// token no longer works then, and the new one would be lost. Use `Vault.auth.stopGuard`.
///
/// A program that handles SIGTERM calls ``close()``, and ends when that returns true. Otherwise it waits with
/// ``whenIdle(_:)`` and tries again.
public final class StopGuard: Sendable {
    private struct State {
        var running = 0
        var isClosed = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())

    package init() {}

    /// Whether stopping right now could lose a token.
    public var isActive: Bool { state.withLock { $0.running > 0 } }

    /// Calls `action` as soon as nothing can be lost, which may be at once. It may be called on any thread.
    ///
    /// A renewed token that could not be stored can be lost until a session has stored it (see
    /// `Session.holdsUnstoredToken`): go on asking for it meanwhile.
    public func whenIdle(_ action: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.running > 0 { state.waiters.append(action) }
            return state.running == 0
        }
        if isIdle { action() }
    }

    /// Lets no renewal begin any more, for right before the end of the process: a task that wants to ask a provider for
    /// new tokens then waits for ever.
    ///
    /// - Returns: false, with nothing changed, when stopping right now could lose a token.
    public func close() -> Bool {
        state.withLock { state in
            if state.running == 0 { state.isClosed = true }
            return state.isClosed
        }
    }

    /// Runs what must not be cut off.
    package func run<R>(_ body: () async throws -> R) async rethrows -> R {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.running += 1 }
            return !state.isClosed
        }
        if !isOpen { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        defer { leave() }
        return try await body()
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

    /// Keeps the program from stopping while a token is only in memory. It ends with this value.
    final class Hold: Sendable {
        private let owner: StopGuard

        /// To be made while something runs, or while another hold lasts.
        init(_ owner: StopGuard) {
            self.owner = owner
            owner.state.withLock { $0.running += 1 }
        }

        deinit { owner.leave() }
    }
}
