internal import Foundation
internal import OpenIDConnect
internal import VaultCrypto
internal import VaultStorage

/// Slows down whoever tries passwords at a backend from this machine: a second between two attempts, and half a minute
/// after five failures in a row, of one user name and of all of them together. It is kept across restarts. The backend
/// has to count for itself as well: whoever does not use this program does not meet this.
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

    /// Runs one attempt, which counts as failed until it has succeeded or was certainly not looked at.
    ///
    /// - Throws: ``VaultError`` with code `tooManyAttempts` before anything is sent, or `wrongSecret` in place of
    ///   `attempt`'s `wrongCredentials`; what else `attempt` throws.
    func charge<R: Sendable>(_ attempt: () async throws -> R) async throws -> R {
        for name in [ofUser, ofAll] { try await bringBackFromTheFuture(name) }
        let before = try await charge(ofUser)
        do {
            _ = try await charge(ofAll)
        } catch {
            // It was not made, and must not count for the one while the others have to wait.
            try? await context.store.withRecord(ofUser) { $0 = before }
            throw error
        }
        do {
            let result = try await attempt()
            try? await forget()
            return result
        } catch let error as OpenIDConnectError where error.code == .wrongCredentials {
            throw VaultError(.wrongSecret, "The user name or the password is wrong.", underlying: error)
        } catch let error as OpenIDConnectError where !error.mayHaveBeenProcessed {
            for name in [ofUser, ofAll] { try? await giveBack(1, to: name) }
            throw error
        }
    }

    // MARK: - Records

    private var ofAll: String { "attempts \(backend)" }

    /// The user name is not readable in it: at times it is a password, typed into the wrong field.
    private var ofUser: String {
        let digest = Checksum.of([Array(backend.utf8), Array(username.lowercased().utf8)])
        return "\(ofAll) \(digest.map { String(format: "%02x", $0) }.joined())"
    }

    /// A clock that was put back must neither lock anybody out for long nor let anybody in at once.
    private func bringBackFromTheFuture(_ name: String) async throws {
        let now = context.clock.now
        try await context.store.withRecord(name) { bytes in
            guard var record = Self.decode(bytes), record.lastAt > now else { return }
            record.lastAt = now
            bytes = Array(try JSONEncoder().encode(record))
        }
    }

    /// Counts an attempt as failed.
    ///
    /// - Returns: what the record was before.
    private func charge(_ name: String) async throws -> [UInt8]? {
        let now = context.clock.now
        let (wait, before) = try await context.store.withRecord(name) { bytes -> (TimeInterval?, [UInt8]?) in
            let before = bytes
            var record = Self.decode(bytes) ?? Record(lastAt: .distantPast)
            let isLocked = record.failures >= Self.failuresBeforeLock
            let pause = isLocked ? Self.lockTime : Self.interval
            let since = max(0, now.timeIntervalSince(record.lastAt))
            guard since >= pause else { return (pause - since, before) }
            record = Record(failures: isLocked ? 1 : record.failures + 1, lastAt: now)
            bytes = Array(try JSONEncoder().encode(record))
            return (nil, before)
        }
        if let wait { throw Self.tooMany(wait: wait) }
        return before
    }

    /// After a success the failures of this user name are forgiven; those of others still count.
    private func forget() async throws {
        let failures = try await context.store.withRecord(ofUser) { bytes in
            defer { bytes = nil }
            return Self.decode(bytes)?.failures ?? 1
        }
        try await giveBack(failures, to: ofAll, endingPause: true)
    }

    private func giveBack(_ failures: Int, to name: String, endingPause: Bool = false) async throws {
        try await context.store.withRecord(name) { bytes in
            guard var record = Self.decode(bytes) else { return }
            record.failures = max(0, record.failures - failures)
            bytes = endingPause && record.failures == 0 ? nil : Array(try JSONEncoder().encode(record))
        }
    }

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
