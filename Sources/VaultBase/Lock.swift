#if THREAD_SANITIZER
    internal import Glibc
#else
    public import Synchronization
#endif

/// A value with the lock that guards it.
///
/// It is a `Mutex` of the standard library. ThreadSanitizer does not see that type on Linux, and reports false races.
/// So builds for it (`Tests/sanitize.sh thread` sets `THREAD_SANITIZER`) use a mutex of the C library.
///
/// It is public because the compiler does not inline generic code of the access level `package`, which takes three times
/// as long.
public struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    #if THREAD_SANITIZER
        // Both need a fixed address, which a field of a moved struct does not have.
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        /// Makes a lock around a value that nobody else uses.
        public init(_ value: consuming sending Value) {
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            let status = pthread_mutex_init(mutex, nil)
            precondition(status == 0)
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Calls `body` with the value while no other thread has it.
        ///
        /// - Warning: Do not take the same lock in `body`.
        public borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&value.pointee)
        }
    #else
        @usableFromInline let mutex: Mutex<Value>

        /// Makes a lock around a value that nobody else uses.
        @inlinable
        public init(_ value: consuming sending Value) {
            mutex = Mutex(value)
        }

        /// Calls `body` with the value while no other thread has it.
        ///
        /// - Warning: Do not take the same lock in `body`.
        @inlinable
        public borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock(body)
        }
    #endif
}
