#if PKCS11
    internal import Foundation

    /// Lets one operation at a time log in at a token.
    ///
    /// A module knows one login for the whole process (PKCS #11 2.40, usage guide, section "Sessions"): without this, a
    /// second operation would be let in by the PIN of the first, and thrown out when that one logs out.
    final class TokenGate: @unchecked Sendable {
        // Sound because the condition guards the set. It is shared by the process because the logins are.
        static let shared = TokenGate()

        private let condition = NSCondition()
        private var busy: Set<TokenIdentity> = []

        /// Runs `body` while nobody else is logged in at the token.
        ///
        /// - Parameter isGivenUp: whether nobody waits any more. It is asked again and again: who is logged in may hang.
        /// - Throws: `CancellationError` when nobody waits any more, and what `body` throws.
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
        /// Until when a thread waits for another one before it asks whether somebody still waits for itself.
        static var soon: Date { Date(timeIntervalSinceNow: 0.1) }
    }
#endif
