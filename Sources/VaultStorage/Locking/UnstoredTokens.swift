package import Logging
internal import VaultLocks

/// Tokens that the provider renewed and that could not be stored, sealed. They outlive the session that got them, and the
/// account stays locked for everybody else meanwhile: another program would send the old token again. What this program
/// does with the account next stores them first.
package final class UnstoredTokens: Sendable {
    private struct Held {
        /// The sealed refresh token that was exchanged. If something else is stored by now, this is out of date.
        let replaces: [UInt8]
        let changes: [StoreChange]
        let lock: AccountLock
        /// The program does not stop while this is kept: nobody else has the token.
        let hold: StopGuard.Hold
    }

    private let held = Lock<[AccountID: Held]>([:])
    private let turns = AccountTurns()
    private let retryClock: (any Clock<Duration>)?
    private let logger: Logger
    /// Tells when the program may stop.
    package let stopGuard: StopGuard

    /// - Parameter retryClock: counts the pauses between two tries to store what is held; nil to try only when somebody
    ///   works on the account.
    package init(
        retryClock: (any Clock<Duration>)?, stopGuard: StopGuard = StopGuard(), logger: Logger = .silent
    ) {
        self.retryClock = retryClock
        self.logger = logger
        self.stopGuard = stopGuard
    }

    package func holds(_ id: AccountID) -> Bool { held.withLock { $0[id] != nil } }

    /// Runs `body` with the account's lock, after it stored what is held for the account.
    ///
    /// - Parameter storesFirst: whether `body` needs what is held to be stored. Otherwise it runs also when that fails.
    /// - Throws: ``VaultError`` with code `storeUnreadable`, or `busy`, and what `body` throws.
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

    /// Makes the changes that came with a renewed token. When that fails it keeps them, and the account's lock.
    ///
    /// - Parameter replaces: the sealed refresh token that was exchanged.
    /// - Throws: ``VaultError`` with code `storeUnreadable`.
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

    /// Stores what is held for an account, after the renewal that is under way.
    ///
    /// - Throws: ``VaultError`` with code `storeUnreadable`, or `busy`.
    package func finish(_ id: AccountID, in store: any SecureStore) async throws {
        try await turns.take(id)
        defer { turns.end(id) }
        try await storeHeld(of: id, in: store)
    }

    /// Forgets what is held for an account. The token is lost, and does not keep the program from stopping any more.
    package func giveUp(_ id: AccountID) { held.withLock { $0[id] = nil } }

    /// Tries until it is stored. An app may do nothing with the account for hours, and others wait for it.
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

    /// - Returns: what is held and still to be stored.
    private func forgetIfOutdated(_ id: AccountID, in store: any SecureStore) async throws -> Held? {
        guard let rest = held.withLock({ $0[id] }) else { return nil }
        if try await store.item(.refreshToken, of: id) == rest.replaces { return rest }
        held.withLock { $0[id] = nil }
        return nil
    }
}
