public import Foundation

/// Slows down whoever guesses at a keyslot that no key service guards: three guesses at once, then a wait that doubles
/// with each wrong one, from a second to an hour. It is kept in the store, so neither a restart nor another process
/// begins anew.
///
/// This is advice. Whoever has the disk does not use this program, or sets the record or the clock as they like; only
/// the cost of the keyslot's Argon2id, and a good password, are in their way.
public struct OfflineGuesses: Sendable {
    /// How many wrong guesses cost no wait.
    public static let freeGuesses = 3
    /// The longest wait between two guesses, in seconds.
    public static let maximumWait: TimeInterval = 3600

    private struct Record: Codable {
        var wrong: Int
        var lastAt: Date

        /// How long after `lastAt` the next guess may be.
        var wait: TimeInterval {
            wrong < freeGuesses ? 0 : min(maximumWait, TimeInterval(1 << min(wrong - freeGuesses, 12)))
        }
    }

    private let store: any SecureStore
    private let name: String

    /// Opens the count of one account. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the count.
    ///   - account: the account.
    public init(store: any SecureStore, account: AccountID) {
        self.store = store
        name = account.recordPrefix + "offline-guesses"
    }

    /// Makes one guess. It counts as wrong before it is made, so that ending the process takes nothing back; a right
    /// one clears the count, and one that could not be evaluated does not count.
    ///
    /// - Parameters:
    ///   - now: the time by the wall clock.
    ///   - guess: returns nil when it was wrong, and throws when it could not be evaluated.
    /// - Throws: ``StoreError`` with code `tooManyGuesses` when it is too early for another guess: see
    ///   ``StoreError/retryAfter``. `busy`, `unreadable`: no guess was made, try again. `corrupt`: restore the store from
    ///   a backup. Errors of `guess`.
    public func charge<R: Sendable>(now: Date, _ guess: () async throws -> R?) async throws -> R? {
        if let wait = try await begin(now: now) {
            let seconds = Int(wait.rounded(.up))
            throw StoreError(
                .tooManyGuesses,
                "Too many wrong guesses. Try again in \(seconds == 1 ? "1 second" : "\(seconds) seconds").",
                retryAfter: .seconds(seconds))
        }
        do {
            guard let result = try await guess() else { return nil }
            // It was right: that the count cannot be cleared right now is no reason to say otherwise.
            await toTheEnd { try await store.withRecord(name) { $0 = nil } }
            return result
        } catch {
            await toTheEnd(giveBack)
            throw error
        }
    }

    /// Does it in a task of its own: the store does nothing more for one that was cancelled, as the guess may have been.
    private func toTheEnd(_ body: @escaping @Sendable () async throws -> Void) async {
        await Task { try? await body() }.value
    }

    /// Counts a guess.
    ///
    /// - Returns: how long to wait, when it is too early; then nothing was counted.
    private func begin(now: Date) async throws -> TimeInterval? {
        try await store.withRecord(name) { bytes in
            var record = Self.decode(bytes) ?? Record(wrong: 0, lastAt: now)
            // After the clock was put back the wait begins once more: that neither spares it nor makes it longer than
            // it ever is.
            if record.lastAt > now {
                record.lastAt = now
                bytes = try Self.encode(record)
            }
            let left = record.wait - now.timeIntervalSince(record.lastAt)
            guard left <= 0 else { return left }
            bytes = try Self.encode(Record(wrong: record.wrong + 1, lastAt: now))
            return nil
        }
    }

    @Sendable private func giveBack() async throws {
        try await store.withRecord(name) { bytes in
            guard var record = Self.decode(bytes) else { return }
            record.wrong = max(0, record.wrong - 1)
            bytes = record.wrong == 0 ? nil : try Self.encode(record)
        }
    }

    /// What is not a record counts as none, and a number that cannot be is brought into bounds.
    private static func decode(_ bytes: [UInt8]?) -> Record? {
        guard let bytes, var record = try? JSONDecoder().decode(Record.self, from: Data(bytes)) else { return nil }
        record.wrong = min(max(0, record.wrong), 1_000)
        return record
    }

    private static func encode(_ record: Record) throws -> [UInt8] { Array(try JSONEncoder().encode(record)) }
}
