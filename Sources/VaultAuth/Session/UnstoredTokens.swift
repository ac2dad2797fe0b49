internal import VaultLocks
internal import VaultStorage

/// Tokens that the provider renewed and that could not be stored, sealed. They outlive the session that got them: whoever
/// works on the account next, with its lock, stores them first.
final class UnstoredTokens: Sendable {
    private struct Held {
        /// The sealed refresh token that was exchanged. If something else is stored by now, this is out of date.
        let replaces: [UInt8]
        let changes: [StoreChange]
        /// Whoever wants to stop waits for as long as this is kept: nobody else has the token.
        let hold = CriticalSection.Hold()
    }

    private let held = Lock<[AccountID: Held]>([:])

    func holds(_ id: AccountID) -> Bool { held.withLock { $0[id] != nil } }

    /// Makes the changes that came with a renewed token, and keeps them when that fails. The caller has the account's lock.
    ///
    /// - Parameter replaces: the sealed refresh token that was exchanged.
    /// - Throws: ``VaultError`` with code `storeUnreadable`.
    func commit(_ changes: [StoreChange], replacing replaces: [UInt8], of id: AccountID, in store: any SecureStore)
        async throws
    {
        held.withLock { $0[id] = Held(replaces: replaces, changes: changes) }
        try await storeHeld(of: id, in: store)
    }

    /// Stores what is held for an account, if anything is. The caller has the account's lock.
    ///
    /// - Throws: ``VaultError`` with code `storeUnreadable`; it is still held then.
    func storeHeld(of id: AccountID, in store: any SecureStore) async throws {
        guard let rest = held.withLock({ $0[id] }) else { return }
        do {
            if try await store.item(.refreshToken, of: id) == rest.replaces {
                try await store.apply(rest.changes, to: id)
            }
        } catch {
            throw VaultError(
                .storeUnreadable,
                "The identity provider renewed the token, but it could not be stored. This program still holds it: mend the cause and ask again before it ends, or register again afterwards.",
                underlying: error)
        }
        held.withLock { $0[id] = nil }
    }
}
