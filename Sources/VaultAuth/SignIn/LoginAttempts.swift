internal import Foundation
internal import OpenIDConnect
internal import VaultHTTP
internal import VaultStorage

/// Slows down whoever tries passwords at a backend from this machine: a second between two attempts, and half a minute
/// after five failures in a row, of one user name and of all of them together. It is kept across restarts. The backend
/// has to count for itself as well: whoever does not use this program does not meet this.
package struct LoginAttempts: Sendable {
    let backend: String
    let username: String
    let context: SignInContext

    /// - Parameter backend: its URL.
    package init(backend: String, username: String, context: SignInContext) {
        self.backend = backend
        self.username = username
        self.context = context
    }

    /// Runs one attempt, which counts as failed until it has succeeded or was certainly not looked at.
    ///
    /// - Throws: ``VaultError`` with code `tooManyAttempts` before anything is sent, or `wrongSecret` in place of
    ///   `attempt`'s `wrongCredentials`; what else `attempt` throws.
    package func charge<R: Sendable>(_ attempt: () async throws -> R) async throws -> R {
        try await count()
        do {
            let result = try await attempt()
            try? await forget()
            return result
        } catch let error as OpenIDConnectError where error.code == .wrongCredentials {
            throw VaultError(.wrongSecret, "The user name or the password is wrong.", underlying: error)
        } catch let error as OpenIDConnectError where !error.mayHaveBeenProcessed {
            try? await giveBack()
            throw error
        }
    }

    private func change<R: Sendable>(_ body: @escaping @Sendable (inout AttemptRecords) -> R) async throws -> R {
        try await AttemptRecords.change(in: context.store, at: context.clock.now, body)
    }

    /// Counts an attempt as failed, unless it is too early for one.
    private func count() async throws {
        let now = context.clock.now
        let wait = try await change { [backend, username] records -> TimeInterval? in
            let (user, all) = (records[backend, username], records.ofAll[backend])
            if let wait = user?.wait(at: now) ?? all?.wait(at: now) { return wait }
            records[backend, username] = .init(failures: (user?.failures ?? 0) + 1, lastAt: now)
            records.ofAll[backend] = .init(failures: (all?.failures ?? 0) + 1, lastAt: now)
            return nil
        }
        if let wait { throw Self.tooMany(wait: wait) }
    }

    /// After a success the failures of this user name are forgiven; those of others still count.
    private func forget() async throws {
        try await change { [backend, username] records in
            let failures = records[backend, username]?.failures ?? 1
            records[backend, username] = nil
            records.ofAll[backend]?.failures -= failures
            if let left = records.ofAll[backend]?.failures, left <= 0 { records.ofAll[backend] = nil }
        }
    }

    /// It was not looked at, and only the pause is left of it.
    private func giveBack() async throws {
        try await change { [backend, username] records in
            records[backend, username]?.failures -= 1
            records.ofAll[backend]?.failures -= 1
        }
    }

    private static func tooMany(wait: TimeInterval) -> VaultError {
        let seconds = Int(wait.rounded(.up))
        return VaultError(
            .tooManyAttempts, "Too many attempts. Try again in \(seconds == 1 ? "1 second" : "\(seconds) seconds").",
            retryAfter: .seconds(seconds))
    }
}
