package import Foundation
internal import VaultCrypto

/// The record of failed sign-ins with a password, for as long as they count.
///
/// People sometimes type a password into the field for the user name. So the record has only a salted hash of the name.
/// The next use of the vault after the pause deletes the hash.
package struct AttemptRecords: RecordContent {
    /// The least time between two attempts, in seconds.
    static let interval: TimeInterval = 1
    static let failuresBeforeLock = 5
    /// The pause after ``failuresBeforeLock`` failures, in seconds.
    static let lockTime: TimeInterval = 30
    package static let name = "attempts"

    package struct Count: Codable {
        package var failures = 0
        package var lastAt: Date

        package init(failures: Int, lastAt: Date) {
            self.failures = failures
            self.lastAt = lastAt
        }

        func isOver(at now: Date) -> Bool { now.timeIntervalSince(lastAt) >= AttemptRecords.lockTime }

        /// The time to wait until the next attempt, in seconds; nil for none.
        package func wait(at now: Date) -> TimeInterval? {
            let pause =
                failures >= AttemptRecords.failuresBeforeLock ? AttemptRecords.lockTime : AttemptRecords.interval
            let left = pause - now.timeIntervalSince(lastAt)
            return left > 0 ? left : nil
        }
    }

    private var salt: [UInt8] = []
    /// The failures at a backend, by its URL.
    package var ofAll: [String: Count] = [:]
    /// The failures of each user name, by the backend's URL and the hash.
    private var ofUsers: [String: [String: Count]] = [:]

    package subscript(backend: String, username: String) -> Count? {
        get { ofUsers[backend]?[hash(backend, username)] }
        set { ofUsers[backend, default: [:]][hash(backend, username)] = newValue }
    }

    private func hash(_ backend: String, _ username: String) -> String {
        Data(Checksum.of([salt, Array(backend.utf8), Array(username.lowercased().utf8)])).base64EncodedString()
    }

    /// Reads and changes the record. Failures that no longer count are removed first.
    package static func change<R: Sendable>(
        in store: any SecureStore, at now: Date, _ change: @escaping @Sendable (inout AttemptRecords) -> R
    ) async throws -> R {
        let salt = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
        return try await Record<AttemptRecords>(name, in: store).change { records in
            if records.salt.isEmpty { records.salt = salt }
            records.forgetOld(at: now)
            return change(&records)
        }
    }

    package init() {}

    package var isEmpty: Bool { ofAll.isEmpty && ofUsers.values.allSatisfy(\.isEmpty) }

    /// Forgets failures that no longer count, and all user names of one backend.
    package static func forget(in store: any SecureStore, at now: Date, usersAt backend: String? = nil) async {
        try? await change(in: store, at: now) { records in
            if let backend { records.ofUsers[backend] = nil }
        }
    }

    /// If the clock was set back, people must not be locked out for long, or get in at once.
    private mutating func forgetOld(at now: Date) {
        func current(_ count: Count) -> Count? {
            if count.isOver(at: now) { return nil }
            return Count(failures: min(max(0, count.failures), 1_000), lastAt: min(count.lastAt, now))
        }
        ofAll = ofAll.compactMapValues(current)
        ofUsers = ofUsers.mapValues { $0.compactMapValues(current) }.filter { !$0.value.isEmpty }
    }
}
