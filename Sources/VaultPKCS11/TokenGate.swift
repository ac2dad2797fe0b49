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
        /// - Parameter isGivenUp: whether nobody waits any more.
        func pass<Answer>(
            _ token: TokenIdentity, isGivenUp: () -> Bool, _ body: () throws -> Answer
        ) throws -> Answer {
            condition.lock()
            while busy.contains(token) { condition.wait() }
            busy.insert(token)
            condition.unlock()
            defer {
                condition.lock()
                busy.remove(token)
                condition.broadcast()
                condition.unlock()
            }
            if isGivenUp() { throw CancellationError() }
            return try body()
        }
    }
#endif
