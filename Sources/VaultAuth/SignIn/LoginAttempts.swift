internal import Foundation
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage

/// Slows down password guesses at a backend from this machine. Two attempts are at least a second apart. After five
/// failures in a row, of one user name or of all together, nobody may try for half a minute. A restart does not reset
/// the count. The backend has to count, too: a thief does not use this program.
package struct LoginAttempts: Sendable {
    let backend: String
    let username: String
    let context: SignInContext

    package init(backend: String, username: String, context: SignInContext) {
        self.backend = backend
        self.username = username
        self.context = context
    }

    /// Runs one attempt. It counts as failed until it succeeds, or until it is certain that the backend did not check
    /// it.
    ///
    /// - Throws: ``VaultError`` with code `tooManyAttempts` before anything is sent: wait for
    ///   ``VaultError/retryAfter``. `wrongSecret` instead of `attempt`'s `wrongCredentials`: ask again. Other errors of
    ///   `attempt`.
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
            if let wait = [user, all].compactMap({ $0?.wait(at: now) }).max() { return wait }
            records[backend, username] = .init(failures: (user?.failures ?? 0) + 1, lastAt: now)
            records.ofAll[backend] = .init(failures: (all?.failures ?? 0) + 1, lastAt: now)
            return nil
        }
        if let wait { throw Self.tooMany(wait: wait) }
    }

    /// A success clears the failures of this user name. The failures of other names still count.
    private func forget() async throws {
        try await change { [backend, username] records in
            let failures = records[backend, username]?.failures ?? 1
            records[backend, username] = nil
            records.ofAll[backend]?.failures -= failures
            if let left = records.ofAll[backend]?.failures, left <= 0 { records.ofAll[backend] = nil }
        }
    }

    /// The backend did not check the attempt, so only its pause stays.
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
