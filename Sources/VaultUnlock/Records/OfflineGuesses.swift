public import Foundation
public import VaultStorage

/// Slows down guesses at a keyslot that needs no key service. Three wrong guesses are free. Then a wait doubles with
/// each wrong guess, from a second to an hour. The store keeps the count, so a restart or another process does not
/// reset it.
///
/// The wait does not stop a thief who has the disk: the thief uses another program, or changes the record or the clock.
/// Only the cost of the keyslot's Argon2id and a good password do.
public struct OfflineGuesses: Sendable {
    /// The number of wrong guesses without a wait.
    public static let freeGuesses = 3
    /// The longest wait between two guesses, in seconds.
    public static let maximumWait: TimeInterval = 3600

    private struct Content: RecordContent {
        var wrong = 0
        var lastAt = Date.distantPast

        var isEmpty: Bool { wrong == 0 }

        mutating func tidy() { wrong = min(max(0, wrong), 1_000) }

        /// The wait after `lastAt`, in seconds.
        var wait: TimeInterval {
            wrong < freeGuesses ? 0 : min(maximumWait, TimeInterval(1 << min(wrong - freeGuesses, 12)))
        }
    }

    private let record: Record<Content>

    /// Opens the count of one account. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the count.
    ///   - account: the account.
    public init(store: any SecureStore, account: AccountID) {
        record = Record("offline-guesses", of: account, in: store)
    }

    /// Makes one guess. The guess counts as wrong from its start, so a killed process does not take it back. A right
    /// guess clears the count. A guess that could not be checked does not count.
    ///
    /// - Parameters:
    ///   - now: the time of the wall clock.
    ///   - guess: returns nil if the guess was wrong, and throws if it could not be checked.
    /// - Throws: ``StoreError`` with code `tooManyGuesses` if it is too early: wait for ``StoreError/retryAfter``.
    ///   `busy`, `unreadable`: no guess was made, try again. `corrupt`: restore a backup. Also the errors of `guess`.
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
            // The guess was right, even if the count cannot be cleared now.
            await toTheEnd { try await record.change { $0.wrong = 0 } }
            return result
        } catch {
            await toTheEnd(giveBack)
            throw error
        }
    }

    /// Runs in a new task: the store does nothing for a cancelled task, and the guess may have been cancelled.
    private func toTheEnd(_ body: @escaping @Sendable () async throws -> Void) async {
        await Task { try? await body() }.value
    }

    /// Counts a guess.
    ///
    /// - Returns: the time to wait, in seconds, if it is too early. Then nothing was counted.
    private func begin(now: Date) async throws -> TimeInterval? {
        try await record.change { content in
            // If the clock was set back, the wait starts again. It becomes neither shorter nor longer than usual.
            if content.lastAt > now { content.lastAt = now }
            let left = content.wait - now.timeIntervalSince(content.lastAt)
            guard left <= 0 else { return left }
            content.wrong += 1
            content.lastAt = now
            return nil
        }
    }

    @Sendable private func giveBack() async throws { try await record.change { $0.wrong = max(0, $0.wrong - 1) } }
}
