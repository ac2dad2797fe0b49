internal import Foundation
internal import OpenIDConnect
public import VaultStorage

/// An open account: its vault key in guarded memory, and its live tokens.
public actor Session {
    /// Whose session this is.
    public nonisolated let id: AccountID
    private var vaultKey: VaultKey?
    private var current: AccessToken?
    private var refreshing: Refresh?
    private var uncommitted: RefreshTransaction.Uncommitted?
    private let accounts: Accounts
    private let provider: OpenIDProvider

    /// A refresh under way, and what it was asked for.
    private struct Refresh {
        let task: Task<AccessToken, any Error>
        let force: Bool
        let minimumValidity: Duration

        /// Whether its result is good enough for somebody who asks for this. Without force it may come from the store.
        func answers(force: Bool, minimumValidity: Duration) -> Bool {
            self.force || !force && minimumValidity <= self.minimumValidity
        }
    }

    /// - Parameter uncommitted: what an earlier session of the account could not store.
    init(
        id: AccountID, vaultKey: VaultKey, accounts: Accounts, provider: OpenIDProvider,
        uncommitted: RefreshTransaction.Uncommitted? = nil
    ) {
        self.id = id
        self.vaultKey = vaultKey
        self.accounts = accounts
        self.provider = provider
        self.uncommitted = uncommitted
    }

    private var clock: any WallClock { accounts.clock }

    /// Whether the vault key is still in memory.
    public var isOpen: Bool { vaultKey != nil }

    /// A valid access token: from memory, from the store, or else fresh from the provider.
    ///
    /// Callers that come while a refresh is under way wait for that one. Cancelling one of them does not cancel it.
    ///
    /// - Parameters:
    ///   - forceRefresh: ask the provider also when the token at hand is still valid.
    ///   - minimumValidity: how long the token has to be valid at least. 60 seconds.
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `refreshTokenExpired` or
    ///   `refreshInterrupted` (register again), `identityProviderUnavailable` (try again later).
    public func accessToken(
        forceRefresh: Bool = false, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        let requestedAt = clock.now
        while let refreshing, !refreshing.answers(force: forceRefresh, minimumValidity: minimumValidity) {
            _ = await refreshing.task.result
        }
        guard let vaultKey else { throw VaultError(.notLoggedIn, "The session is locked. Log in again.") }
        if !forceRefresh, uncommitted == nil, let current, current.isValid(for: minimumValidity, at: clock.now) {
            return current
        }
        let task =
            refreshing?.task
            ?? startRefresh(vaultKey, force: forceRefresh, minimumValidity: minimumValidity, requestedAt: requestedAt)
        do {
            return try await task.value
        } catch {
            throw VaultError.converting(error)
        }
    }

    private func startRefresh(
        _ vaultKey: VaultKey, force: Bool, minimumValidity: Duration, requestedAt: Date
    ) -> Task<AccessToken, any Error> {
        let transaction = RefreshTransaction(
            id: id, vaultKey: vaultKey, store: accounts.store, provider: provider, clock: clock)
        let pending = uncommitted
        let task = Task {
            let result: Result<AccessToken, any Error>
            do {
                result = .success(
                    try await transaction.run(
                        force: force, minimumValidity: minimumValidity, requestedAt: requestedAt, uncommitted: pending))
            } catch {
                result = .failure(error)
            }
            return try finishRefresh(result)
        }
        refreshing = Refresh(task: task, force: force, minimumValidity: minimumValidity)
        return task
    }

    private func finishRefresh(_ result: Result<AccessToken, any Error>) throws -> AccessToken {
        refreshing = nil
        do {
            let token = try result.get()
            uncommitted = nil
            if vaultKey != nil { current = token }
            return token
        } catch let error as RefreshTransaction.Uncommitted {
            uncommitted = error
            throw VaultError(
                .storeUnreadable,
                "The identity provider renewed the token, but it could not be stored. This program still holds it: mend the cause and ask again before it ends, or register again afterwards.",
                underlying: error.cause)
        }
    }

    /// Whether this process holds a renewed token that could not be stored. The next ``accessToken(forceRefresh:minimumValidity:)``
    /// stores it first.
    public var holdsUnstoredToken: Bool { uncommitted != nil }

    /// The refresh token as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` (also when none is stored any more) or `storeCorrupt`.
    public func refreshToken() async throws -> RefreshToken {
        guard let vaultKey else { throw VaultError(.notLoggedIn, "The session is locked. Log in again.") }
        do {
            return try await accounts.refreshToken(of: id, vaultKey: vaultKey)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Forgets the vault key and the tokens. A refresh under way still stores what it gets.
    public func lock() {
        vaultKey = nil
        current = nil
    }

    /// Gives away what could not be stored, for the account's next session. It is sealed.
    func takeUncommitted() -> RefreshTransaction.Uncommitted? {
        defer { uncommitted = nil }
        return uncommitted
    }
}
