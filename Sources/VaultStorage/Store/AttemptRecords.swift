package import Foundation
internal import VaultCrypto

/// What the store keeps of sign-ins with a password that failed, in one record, for as long as it counts.
///
/// A user name is at times a password that was typed into the wrong field. So only a salted hash of it is kept, and that
/// goes with the pause that it is for: when the vault is used next, at the latest.
package struct AttemptRecords: Codable {
    /// How long two attempts are apart at least, in seconds.
    static let interval: TimeInterval = 1
    static let failuresBeforeLock = 5
    /// How long nobody may try after so many failures, in seconds.
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

        /// How long to wait until the next attempt; nil for not at all.
        package func wait(at now: Date) -> TimeInterval? {
            let pause =
                failures >= AttemptRecords.failuresBeforeLock ? AttemptRecords.lockTime : AttemptRecords.interval
            let left = pause - now.timeIntervalSince(lastAt)
            return left > 0 ? left : nil
        }
    }

    private var salt: [UInt8]
    /// The failures at a backend, by its URL.
    package var ofAll: [String: Count] = [:]
    /// Those of one user name, by the backend's URL and the hash.
    private var ofUsers: [String: [String: Count]] = [:]

    package subscript(backend: String, username: String) -> Count? {
        get { ofUsers[backend]?[hash(backend, username)] }
        set { ofUsers[backend, default: [:]][hash(backend, username)] = newValue }
    }

    private func hash(_ backend: String, _ username: String) -> String {
        Data(Checksum.of([salt, Array(backend.utf8), Array(username.lowercased().utf8)])).base64EncodedString()
    }

    /// Reads and changes the record. What is over is not in it any more.
    package static func change<R: Sendable>(
        in store: any SecureStore, at now: Date, _ change: @escaping @Sendable (inout AttemptRecords) -> R
    ) async throws -> R {
        let salt = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
        return try await store.withRecord(name) { bytes in
            // What is no record counts as none.
            var records =
                bytes.flatMap { try? JSONDecoder().decode(Self.self, from: Data($0)) } ?? AttemptRecords(salt: salt)
            records.tidy(at: now)
            let result = change(&records)
            let isEmpty = records.ofAll.isEmpty && records.ofUsers.values.allSatisfy(\.isEmpty)
            bytes = isEmpty ? nil : Array(try JSONEncoder().encode(records))
            return result
        }
    }

    /// Forgets what is over, and of one backend which user names there were.
    package static func forget(in store: any SecureStore, at now: Date, usersAt backend: String? = nil) async {
        try? await change(in: store, at: now) { records in
            if let backend { records.ofUsers[backend] = nil }
        }
    }

    /// A clock that was put back must neither lock anybody out for long nor let anybody in at once.
    private mutating func tidy(at now: Date) {
        func current(_ count: Count) -> Count? {
            if count.isOver(at: now) { return nil }
            return Count(failures: min(max(0, count.failures), 1_000), lastAt: min(count.lastAt, now))
        }
        ofAll = ofAll.compactMapValues(current)
        ofUsers = ofUsers.mapValues { $0.compactMapValues(current) }.filter { !$0.value.isEmpty }
    }
}
