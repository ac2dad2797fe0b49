#if PKCS11
    import VaultBase

    /// A number that only grows, for threads.
    final class ThreadFlag: Sendable {
        private let state = Lock(0)
        var level: Int { state.withLock { $0 } }
        func raise(_ level: Int) { state.withLock { $0 = max($0, level) } }
    }
#endif
