internal import Synchronization

/// The time between asking a provider for new tokens and having stored them, in this process. A program that is asked
/// to stop waits for it to end: otherwise a token that the provider has rotated would be lost.
public enum CriticalSection {
    private struct State {
        var running = 0
        var waiters: [@Sendable () -> Void] = []
    }

    private static let state = Mutex(State())

    /// Whether stopping right now could lose a token.
    public static var isActive: Bool { state.withLock { $0.running > 0 } }

    /// Calls `action` as soon as nothing can be lost, which may be at once. It may be called on any thread.
    public static func whenIdle(_ action: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.running > 0 { state.waiters.append(action) }
            return state.running == 0
        }
        if isIdle { action() }
    }

    static func run<R>(_ body: () async throws -> R) async rethrows -> R {
        state.withLock { $0.running += 1 }
        defer {
            let waiters = state.withLock { state in
                state.running -= 1
                guard state.running == 0 else { return [@Sendable () -> Void]() }
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter() }
        }
        return try await body()
    }
}
