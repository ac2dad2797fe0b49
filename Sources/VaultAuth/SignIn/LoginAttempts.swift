internal import Foundation
internal import OpenIDConnect
internal import VaultStorage

/// Slows down whoever tries passwords at a backend from this machine: a second between two attempts, and half a minute
/// after five failures in a row. It is kept across restarts. The backend has to count for itself as well: whoever does
/// not use this program does not meet this.
struct LoginAttempts: Sendable {
    static let interval: TimeInterval = 1
    static let failuresBeforeLock = 5
    static let lockTime: TimeInterval = 30

    let backend: String
    let username: String
    let context: SignInContext

    private struct Record: Codable {
        var failures = 0
        var lastAt: Date
    }

    /// Runs one attempt, which counts as failed until it has succeeded or was certainly not about the password.
    ///
    /// - Throws: ``VaultError`` with code `tooManyAttempts` before anything is sent, or `wrongSecret` in place of
    ///   `attempt`'s `wrongCredentials`; what else `attempt` throws.
    func charge<R: Sendable>(_ attempt: () async throws -> R) async throws -> R {
        let now = context.clock.now
        try await context.store.withRecord(name) { bytes in
            var record = Self.decode(bytes) ?? Record(lastAt: .distantPast)
            let since = now.timeIntervalSince(record.lastAt)
            let pause = record.failures >= Self.failuresBeforeLock ? Self.lockTime : Self.interval
            // A clock that was put back must not lock anybody out.
            if since >= 0, since < pause { throw Self.tooMany(wait: pause - since) }
            if since >= Self.lockTime, record.failures >= Self.failuresBeforeLock { record.failures = 0 }
            record.failures += 1
            record.lastAt = now
            bytes = Array(try JSONEncoder().encode(record))
        }
        do {
            let result = try await attempt()
            try? await context.store.withRecord(name) { $0 = nil }
            return result
        } catch let error as OpenIDConnectError where error.code == .wrongCredentials {
            throw VaultError(.wrongSecret, "The user name or the password is wrong.", underlying: error)
        } catch {
            try? await context.store.withRecord(name) { bytes in
                guard var record = Self.decode(bytes) else { return }
                record.failures -= 1
                bytes = Array(try JSONEncoder().encode(record))
            }
            throw error
        }
    }

    private var name: String { "attempts \(backend) \(username.lowercased())" }

    private static func decode(_ bytes: [UInt8]?) -> Record? {
        bytes.flatMap { try? JSONDecoder().decode(Record.self, from: Data($0)) }
    }

    private static func tooMany(wait: TimeInterval) -> VaultError {
        let seconds = Int(wait.rounded(.up))
        return VaultError(
            .tooManyAttempts, "Too many attempts. Try again in \(seconds == 1 ? "1 second" : "\(seconds) seconds").",
            retryAfter: .seconds(seconds))
    }
}
