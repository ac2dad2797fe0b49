#if PKCS11
    import Synchronization

    /// A number that only grows, for threads.
    final class ThreadFlag: Sendable {
        private let state = Mutex(0)
        var level: Int { state.withLock { $0 } }
        func raise(_ level: Int) { state.withLock { $0 = max($0, level) } }
    }
#endif
