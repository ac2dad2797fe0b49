internal import VaultLocks

/// The time between asking a provider for new tokens and having stored them, in this process, however long the storing
/// takes. A program that is asked to stop waits for it to end: otherwise a token that the provider has rotated would be
/// lost.
public enum CriticalSection {
    private struct State {
        var running = 0
        var isClosed = false
        var waiters: [@Sendable () -> Void] = []
    }

    private static let state = Lock(State())

    /// Whether stopping right now could lose a token.
    public static var isActive: Bool { state.withLock { $0.running > 0 } }

    /// Calls `action` as soon as nothing can be lost, which may be at once. It may be called on any thread.
    ///
    /// A renewed token that could not be stored can be lost until a session has stored it (see
    /// ``Session/holdsUnstoredToken``): go on asking for it meanwhile.
    public static func whenIdle(_ action: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.running > 0 { state.waiters.append(action) }
            return state.running == 0
        }
        if isIdle { action() }
    }

    /// Lets nothing begin any more that could be lost, for right before the end of the process: whoever wants to ask a
    /// provider for new tokens then waits for ever.
    ///
    /// - Returns: false, with nothing changed, when stopping right now could lose a token.
    public static func close() -> Bool {
        state.withLock { state in
            if state.running == 0 { state.isClosed = true }
            return state.isClosed
        }
    }

    static func run<R>(_ body: () async throws -> R) async rethrows -> R {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.running += 1 }
            return !state.isClosed
        }
        if !isOpen { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        defer { leave() }
        return try await body()
    }

    private static func leave() {
        let waiters = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [@Sendable () -> Void]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Keeps the section from ending while a token is only in memory, until it is released or forgotten.
    final class Hold: Sendable {
        private let isReleased = Lock(false)

        /// To be made inside the section, or while another hold lasts.
        init() {
            state.withLock { $0.running += 1 }
        }

        deinit { release() }

        /// Only the first call has an effect.
        func release() {
            let isFirst = isReleased.withLock { isReleased in
                defer { isReleased = true }
                return !isReleased
            }
            if isFirst { leave() }
        }
    }
}
