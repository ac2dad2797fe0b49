#if PKCS11
    internal import Foundation

    /// A gate that lets one operation at a time log in at a token.
    ///
    /// A module has one login for the whole process (PKCS #11 2.40, usage guide, section "Sessions"). Without the gate,
    /// a second operation would enter with the first one's PIN, and lose its login at the first one's logout.
    final class TokenGate: @unchecked Sendable {
        // The mark is sound, as the condition guards the set. The process shares the gate, as it shares the logins.
        static let shared = TokenGate()

        private let condition = NSCondition()
        private var busy: Set<TokenIdentity> = []

        /// Runs `body` while no other operation is logged in at the token.
        ///
        /// - Parameter isGivenUp: whether the operation was given up. It is called repeatedly, as the logged-in
        ///   operation may hang.
        /// - Throws: `CancellationError` if the operation was given up, or the error of `body`.
        func pass<Answer>(
            _ token: TokenIdentity, isGivenUp: () -> Bool, _ body: () throws -> Answer
        ) throws -> Answer {
            try condition.withLock {
                while busy.contains(token) {
                    if isGivenUp() { throw CancellationError() }
                    _ = condition.wait(until: .soon)
                }
                if isGivenUp() { throw CancellationError() }
                busy.insert(token)
            }
            defer {
                condition.lock()
                busy.remove(token)
                condition.broadcast()
                condition.unlock()
            }
            return try body()
        }
    }

    extension Date {
        /// The end of one wait for another thread. After it, the thread checks whether its own operation was given up.
        static var soon: Date { Date(timeIntervalSinceNow: 0.1) }
    }
#endif
