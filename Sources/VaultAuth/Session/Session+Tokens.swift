package import Foundation
internal import VaultBase
public import VaultStorage

/// A renewal of the tokens that is under way.
struct Renewal: Sendable {
    let request: RefreshTransaction.Request
    fileprivate let task: Task<AccessToken, any Error>

    /// Waits for the new token.
    ///
    /// - Throws: ``VaultError``.
    func token() async throws -> AccessToken {
        do {
            return try await task.value
        } catch {
            throw VaultError.converting(error)
        }
    }

    func end() async { _ = await task.result }
}

// Access tokens, and their renewal.
extension Session {
    /// Returns a valid access token from memory, from the store, or from the provider.
    ///
    /// Calls during a refresh wait for that refresh. The cancellation of one caller does not cancel the refresh. If the
    /// provider refuses the refresh token for good, the session gives out no more tokens: see ``refusal``.
    ///
    /// - Parameters:
    ///   - forceRefresh: whether to ask the provider even if the present token is valid.
    ///   - minimumValidity: the least time for which the token must be valid. 60 seconds by default.
    /// - Throws: ``VaultError`` with one of these codes:
    ///   - `notLoggedIn`: the session was locked, also because the key service has not said for too long that this
    ///     device was not revoked. Log in again.
    ///   - `deviceRevoked`: the owner revoked this device, and the session has ended. Register again.
    ///   - `refreshTokenExpired`, `refreshInterrupted`: register again.
    ///   - `identityProviderUnavailable`, `identityProviderTimedOut`, `identityProviderInterrupted`,
    ///     `identityProviderAnswerInvalid`, `busy`: try again later.
    ///   - `storeUnreadable`: free disk space, then call again before this program ends.
    public nonisolated func accessToken(
        forceRefresh: Bool = false, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        if !forceRefresh, let token = tokenAtHand(validFor: minimumValidity) { return token }
        let request = RefreshTransaction.Request(force: forceRefresh, minimumValidity: minimumValidity, at: clock.now)
        // A thousand callers would wait for the actor one after the other.
        if let renewal = renewal.withLock(\.self), renewal.request.covers(request), refusal == nil, isUsed() {
            return try await renewal.token()
        }
        return try await accessToken(request)
    }

    /// Returns a new token for another program. A token that the provider issued after `moment` is new enough.
    ///
    /// - Parameters:
    ///   - moment: the time of the other program's request.
    ///   - minimumValidity: the least time for which the token must be valid.
    /// - Throws: as ``accessToken(forceRefresh:minimumValidity:)``.
    package func accessToken(forcedAt moment: Date, minimumValidity: Duration) async throws -> AccessToken {
        try await accessToken(.init(force: true, minimumValidity: minimumValidity, at: moment))
    }

    /// Returns the token in memory if it is good enough. This does not wait.
    package nonisolated func tokenAtHand(validFor minimumValidity: Duration) -> AccessToken? {
        // Each request for a token comes here. What one request finds holds until the kernel's clock moves.
        let tick = hasMachineTime ? limits?.tick : nil
        if let tick, let token = live.withLock({ $0.token(foundIn: tick, validFor: minimumValidity) }) { return token }
        // After a refusal there is no token, and the question for one is no use of the session: its idle time goes on.
        guard live.withLock({ $0.token != nil }), limits?.use() ?? true else { return nil }
        let now = clock.now
        return live.withLock { $0.token(validFor: minimumValidity, at: now, inTick: tick) }
    }

    /// Returns another access token than the one that a resource server refused with 401 before its end.
    ///
    /// If many callers pass the same refused token, the provider is asked only once.
    ///
    /// - Throws: as ``accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken(
        replacing refused: AccessToken, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        try await accessToken(.init(minimumValidity: minimumValidity, rejected: refused.value, at: clock.now))
    }

    func accessToken(_ request: RefreshTransaction.Request) async throws -> AccessToken {
        while let renewal = renewal.withLock(\.self), !renewal.request.covers(request) { await renewal.end() }
        try requireAccepted()
        if !request.force, let token = live.withLock({ $0.token }), request.accepts(token, now: request.at) {
            return token
        }
        return try await (renewal.withLock(\.self) ?? startRenewal(request)).token()
    }

    /// Whether nobody has told since the account was opened that the owner did not revoke this device.
    nonisolated var mayBeRevoked: Bool { live.withLock { $0.mayBeRevoked } }

    /// What the servers have said since the account was opened, for the program that goes on with the session.
    package nonisolated var contact: SessionContact { live.withLock { $0.contactToHandOn } }

    /// Waits until the renewal that is under way has ended.
    func waitForRefresh() async { await renewal.withLock(\.self)?.end() }

    private func startRenewal(_ request: RefreshTransaction.Request) -> Renewal {
        // Many callers may wait. The renewal must not wait behind them for a thread.
        let task = Task(priority: .userInitiated) {
            let result: Result<(token: AccessToken, isNew: Bool), any Error>
            do {
                result = .success(
                    try await backend.accessToken(
                        isForced: request.force, minimumValidity: request.minimumValidity, rejected: request.rejected,
                        requestedAt: request.at))
            } catch {
                result = .failure(error)
            }
            return try await finishRefresh(result)
        }
        let renewal = Renewal(request: request, task: task)
        self.renewal.withLock { $0 = renewal }
        return renewal
    }

    private func finishRefresh(
        _ result: Result<(token: AccessToken, isNew: Bool), any Error>
    ) async throws -> AccessToken {
        renewal.withLock { $0 = nil }
        do {
            let (token, isNew) = try result.get()
            guard isOpen else {
                throw refusal ?? VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.")
            }
            live.withLock { $0.use(token, isNew: isNew) }
            // A new sign-in in another program binds the account's tokens to another key.
            proofKey = nil
            if isNew { updates.send(.init(.refreshed, id)) }
            return token
        } catch {
            if backend.holdsUnstoredToken { live.withLock { $0.forgetToken() } }
            throw await failed(error)
        }
    }

    /// Tells the listeners of a failed refresh. Ends the session if the provider refused for good.
    func failed(_ error: any Error) async -> any Error {
        guard let error = VaultError.converting(error) as? VaultError, isOpen else { return error }
        // The session goes on with the new vault key.
        guard !error.isOfReplacedVaultKey else { return error }
        switch error.code {
        case .refreshTokenExpired, .refreshInterrupted:
            proofKey = nil
            live.withLock { $0.refuse(error) }
            updates.send(.init(.loggedOut, id, reason: .refused, error: error))
        // Another program logged out or deleted the account, so the session cannot go on.
        case .notLoggedIn: await end(.loggedOut, .requested, because: error)
        case .accountNotFound: await end(.loggedOut, .deleted, because: error)
        case .deviceRevoked: await end(.loggedOut, .refused, because: error)
        default:
            if error.isProviderOutage { goOffline() }
            updates.send(.init(.refreshFailed, id, error: error))
        }
        return error
    }
}
