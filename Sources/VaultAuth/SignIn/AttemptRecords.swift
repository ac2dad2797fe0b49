internal import Foundation
internal import VaultCrypto
internal import VaultStorage

/// What the store keeps of sign-ins with a password that failed, in one record, for as long as it counts.
///
/// A user name is at times a password that was typed into the wrong field. So only a salted hash of it is kept, and that
/// goes with the pause that it is for: when the vault is used next, at the latest.
struct AttemptRecords: Codable {
    static let name = "attempts"

    struct Count: Codable {
        var failures = 0
        var lastAt: Date

        func isOver(at now: Date) -> Bool { now.timeIntervalSince(lastAt) >= LoginAttempts.lockTime }

        /// How long to wait until the next attempt; nil for not at all.
        func wait(at now: Date) -> TimeInterval? {
            let pause = failures >= LoginAttempts.failuresBeforeLock ? LoginAttempts.lockTime : LoginAttempts.interval
            let left = pause - now.timeIntervalSince(lastAt)
            return left > 0 ? left : nil
        }
    }

    private var salt: [UInt8]
    /// The failures at a backend, by its URL.
    var ofAll: [String: Count] = [:]
    /// Those of one user name, by the backend's URL and the hash.
    private var ofUsers: [String: [String: Count]] = [:]

    subscript(backend: String, username: String) -> Count? {
        get { ofUsers[backend]?[hash(backend, username)] }
        set { ofUsers[backend, default: [:]][hash(backend, username)] = newValue }
    }

    private func hash(_ backend: String, _ username: String) -> String {
        Data(Checksum.of([salt, Array(backend.utf8), Array(username.lowercased().utf8)])).base64EncodedString()
    }

    /// Reads and changes the record. What is over is not in it any more.
    static func change<R: Sendable>(
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
    static func forget(in store: any SecureStore, at now: Date, usersAt backend: String? = nil) async {
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
