package import Logging
internal import VaultBase

/// Renewed tokens that could not be stored yet, sealed. They outlive the session that got them. The account stays
/// locked for other programs meanwhile, because these would send the old token again. This program's next work on the
/// account stores them first.
package final class UnstoredTokens: Sendable {
    private struct Held {
        /// The sealed refresh token that was exchanged. If the store has another one by now, this value is out of date.
        let replaces: [UInt8]
        let changes: [StoreChange]
        let lock: AccountLock
        /// The program does not stop while this is kept: the token is nowhere else.
        let hold: StopGuard.Hold
    }

    private let held = Lock<[AccountID: Held]>([:])
    private let turns = AccountLocks()
    private let retryClock: (any Clock<Duration>)?
    private let logger: Logger
    /// Tells when the program may stop.
    package let stopGuard: StopGuard

    /// - Parameter retryClock: measures the pauses between two tries to store the tokens. If nil, only the next work on
    ///   the account tries again.
    package init(
        retryClock: (any Clock<Duration>)?, stopGuard: StopGuard = StopGuard(), logger: Logger = .silent
    ) {
        self.retryClock = retryClock
        self.logger = logger
        self.stopGuard = stopGuard
    }

    package func holds(_ id: AccountID) -> Bool { held.withLock { $0[id] != nil } }

    /// Stores the held tokens of the account, then runs `body` with the account's lock.
    ///
    /// - Parameter storesFirst: whether `body` must not run if the held tokens cannot be stored.
    /// - Throws: ``VaultError`` with code `storeUnreadable` (free disk space, then try again) or `busy` (try again),
    ///   and the errors of `body`.
    package func withLock<R: Sendable>(
        on id: AccountID, in store: any SecureStore, storesFirst: Bool,
        _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        try await turns.take(id)
        defer { turns.end(id) }
        do {
            try await storeHeld(of: id, in: store)
        } catch {
            guard !storesFirst else { throw error }
        }
        guard let lock = held.withLock({ $0[id]?.lock }) else { return try await store.withLock(on: id, body) }
        let result = try await body(lock)
        // `body` may have put another token in its place, or removed the account.
        _ = try? await forgetIfOutdated(id, in: store)
        return result
    }

    /// Makes the changes that came with a renewed token. If that fails, it keeps the changes and the account's lock.
    ///
    /// - Parameter replaces: the sealed refresh token that was exchanged.
    /// - Throws: ``VaultError`` with code `storeUnreadable`: free disk space, then try again before the program ends.
    package func commit(
        _ changes: [StoreChange], replacing replaces: [UInt8], of id: AccountID, in store: any SecureStore,
        lock: AccountLock
    ) async throws {
        held.withLock { $0[id] = Held(replaces: replaces, changes: changes, lock: lock, hold: .init(stopGuard)) }
        do {
            try await storeHeld(of: id, in: store)
        } catch {
            if let retryClock { tryAgain(of: id, in: store, retryClock) }
            throw error
        }
    }

    /// Stores the held tokens of an account, after a renewal that is under way.
    ///
    /// - Throws: ``VaultError`` with code `storeUnreadable` (free disk space, then try again) or `busy` (try again).
    package func finish(_ id: AccountID, in store: any SecureStore) async throws {
        try await turns.take(id)
        defer { turns.end(id) }
        try await storeHeld(of: id, in: store)
    }

    /// Forgets the held tokens of an account. They are lost, and the program may stop.
    package func giveUp(_ id: AccountID) { held.withLock { $0[id] = nil } }

    /// Tries until the tokens are stored. An app may leave the account alone for hours while others wait for it.
    private func tryAgain(of id: AccountID, in store: any SecureStore, _ clock: any Clock<Duration>) {
        Task { [weak self] in
            var pause = Duration.seconds(1)
            while self?.holds(id) == true {
                self?.logger.warning(
                    "a renewed token could not be stored: trying again in \(pause)", metadata: id.logMetadata)
                try await clock.sleep(for: pause)
                pause = min(pause * 2, .seconds(30))
                try? await self?.withLock(on: id, in: store, storesFirst: true) { _ in }
            }
        }
    }

    private func storeHeld(of id: AccountID, in store: any SecureStore) async throws {
        do {
            guard let rest = try await forgetIfOutdated(id, in: store) else { return }
            try await store.apply(rest.changes, to: id)
        } catch {
            throw VaultError(
                .storeUnreadable,
                "The identity provider renewed the token, but it could not be stored. Free disk space, then try again before this program ends. Until then no other program can use the account.",
                underlying: error)
        }
        held.withLock { $0[id] = nil }
    }

    /// - Returns: the held changes that are still to be stored.
    private func forgetIfOutdated(_ id: AccountID, in store: any SecureStore) async throws -> Held? {
        guard let rest = held.withLock({ $0[id] }) else { return nil }
        if try await store.item(.refreshToken, of: id) == rest.replaces { return rest }
        held.withLock { $0[id] = nil }
        return nil
    }
}
