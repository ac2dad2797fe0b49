internal import CredentialVault

/// Measures a call for a token that is at hand, and compares it with a call of an actor that does almost nothing.
enum ValidToken {
    private static let calls = 20_000

    /// The count keeps the optimizer from removing the call.
    private actor Idle {
        private var count = 0
        func call() { count &+= 1 }
    }

    static func measure(_ auth: any AuthProtocol, _ session: Session) async throws -> [String: Duration] {
        let idle = Idle()
        _ = try await session.accessToken()
        return [
            "empty actor call": try await time { await idle.call() },
            "session.accessToken()": try await time { _ = try await session.accessToken() },
            "auth.accessToken()": try await time { _ = try await auth.accessToken() },
        ]
    }

    /// The time of one call.
    @inline(__always) private static func time(_ call: () async throws -> Void) async throws -> Duration {
        let start = ContinuousClock.now
        for _ in 0..<calls { try await call() }
        return (ContinuousClock.now - start) / calls
    }
}

/// Measures a refresh that one caller waits for, and a refresh that a thousand callers wait for: until the first caller
/// has the token, and until all have it. If a refresh ends before all callers have asked, measures again.
enum WaitingCallers {
    private static let tries = 10

    static func measure(_ session: Session) async throws -> [String: Duration] {
        let one = try await time(session, callers: 1)
        var many = try await time(session, callers: 1000)
        for _ in 1..<tries where many.tokens > 1 { many = try await time(session, callers: 1000) }
        guard one.tokens == 1, many.tokens == 1 else {
            throw VaultError(.busy, "In \(tries) attempts, the callers came too late to share one refresh.")
        }
        return [
            "refresh for 1 caller": one.first, "refresh for 1000 callers": many.first,
            "refresh until 1000 callers have it": many.last,
        ]
    }

    private static func time(
        _ session: Session, callers: Int
    ) async throws -> (first: Duration, last: Duration, tokens: Int) {
        let start = ContinuousClock.now
        var tokens = Set<String>()
        var times: [Duration] = []
        try await withThrowingTaskGroup(of: (String, Duration).self) { group in
            for _ in 0..<callers {
                group.addTask {
                    let token = try await session.accessToken(forceRefresh: true)
                    return (token.value, ContinuousClock.now - start)
                }
            }
            for try await (token, time) in group {
                tokens.insert(token)
                times.append(time)
            }
        }
        guard let first = times.min(), let last = times.max() else { throw VaultError(.busy, "There was no caller.") }
        return (first, last, tokens.count)
    }
}
