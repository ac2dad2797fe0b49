internal import VaultAgentProtocol
package import VaultAuth
internal import VaultBase
internal import VaultCrypto
package import VaultStorage
package import VaultUnlock

/// The sessions that the agent holds, and their ends.
package final class HeldSessions: Sendable {
    private struct State {
        var sessions: [AccountID: HeldSession] = [:]
        /// The accounts that `vault agent unlock` opens again.
        var locked: [AccountID] = []
        /// A number that changes with each lock. A session whose secret was given before a lock stays closed. It begins
        /// at random, so that a number from an agent that ended counts for no other agent.
        var locks = UInt64.random(in: .min ... .max)
        /// The sessions with a renewed token that is not stored yet, for example because the disk is full. The next
        /// session of the account continues with it.
        var unfinished: [AccountID: HeldSession] = [:]
    }

    private let state = Lock(State())
    private let clock: SteadyClock
    private let policy: WatchedPolicy
    private let makeOpener: @Sendable () async throws -> SessionOpener
    /// Called for each event of a session.
    private let onUpdate = Lock<@Sendable (SessionUpdate) -> Void>({ _ in })

    /// - Parameters:
    ///   - policy: the machine's policy. Each request looks at it, so a change also counts for open sessions,
    ///   within 10 milliseconds.
    package init(
        clock: SteadyClock, policy: WatchedPolicy, makeOpener: @escaping @Sendable () async throws -> SessionOpener
    ) {
        self.clock = clock
        self.policy = policy
        self.makeOpener = makeOpener
    }

    func listen(_ listener: @escaping @Sendable (SessionUpdate) -> Void) { onUpdate.withLock { $0 = listener } }

    // MARK: - Finding

    /// Returns the session of an account, for use now. A session that the policy forbids, or whose time is over, is
    /// locked.
    ///
    /// - Throws: as ``WatchedPolicy/current()``.
    func used(_ id: AccountID) throws -> HeldSession? {
        let policy = try policy.recent()
        guard let held = state.withLock({ $0.sessions[id] }), held.session.isOpen else { return nil }
        guard let reason = held.use(under: policy) else { return held }
        Task { await lock(held, reason) }
        return nil
    }

    var all: [HeldSession] { state.withLock { Array($0.sessions.values) } }

    var locked: [AccountID] { state.withLock { $0.locked } }

    // MARK: - The policy

    /// The machine's policy as it is now; nil if it has none.
    ///
    /// - Throws: as ``WatchedPolicy/current()``.
    var machinePolicy: VaultPolicy? { get throws { try policy.current().policy } }

    /// Applies the machine's policy to all sessions, also to those that nobody uses. Locks those that it forbids and
    /// those whose time is over. If the policy cannot be read, the last one still holds.
    package func obeyPolicy() async {
        let policy = try? policy.current()
        for held in all {
            if let reason = held.overdue(under: policy) { await lock(held, reason) }
        }
    }

    // MARK: - Holding

    /// The number that ``hold(_:vaultKey:rules:contact:locks:)`` takes, when a person gives a secret.
    var locks: UInt64 { state.withLock { $0.locks } }

    /// Holds a session. Replaces an earlier one of the same account.
    ///
    /// - Parameters:
    ///   - contact: what the servers have said since the account was opened.
    ///   - locks: ``locks`` at the time when the person gave the secret.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if a lock came after that: log in again.
    func hold(
        _ id: AccountID, vaultKey: VaultKey, rules: HoldingRules, contact: SessionContact, locks: UInt64
    ) async throws {
        let policy = try policy.current()
        let (isLate, left, present) = state.withLock {
            ($0.locks != locks, $0.unfinished[id], $0.sessions[id])
        }
        guard !isLate else { throw Self.lockedMeanwhile }
        let unfinished = (left ?? present.flatMap { $0.isUnfinished ? $0 : nil })?.opener
        let opener = if let unfinished { unfinished } else { try await makeOpener() }
        let account = try await opener.accounts.account(id)
        let opened = try await opener.adopt(id, vaultKey: vaultKey, contact: contact)
        let session = opened.session
        // Both would tell their events to the same listeners.
        if let present, present.opener === opener { await present.session.lock(.loggedOut, reason: .replaced) }
        opener.accounts.askLaterQuestions(of: id)
        let held = HeldSession(
            account: account, opener: opener, opened: opened, rules: rules, policy: policy, clock: clock)
        let updates = opener.updates.stream()
        let replaced: (others: [HeldSession], same: HeldSession?)? = state.withLock { state in
            guard state.locks == locks else { return nil }
            state.locked.removeAll { $0 == id }
            // `vault agent unlock` opens none of the others again: only one account is to be open.
            let others = rules.isExclusive ? state.sessions.values.filter { $0.id != id } : []
            let same = state.sessions[id]
            for other in others { state.sessions[other.id] = nil }
            state.sessions[id] = held
            return (others, same)
        }
        guard let replaced else {
            await session.lock()
            throw Self.lockedMeanwhile
        }
        // A client of the old session continues with the new one.
        if let same = replaced.same {
            same.cancelTasks()
            keepIfUnfinished(same)
            await same.session.lock()
            // A renewal may have begun meanwhile.
            keepIfUnfinished(same)
        }
        if unfinished != nil, !opener.accounts.unstored.holds(id) { state.withLock { $0.unfinished[id] = nil } }
        for other in replaced.others { await end(other, .replaced) }
        onUpdate.withLock { $0 }(SessionUpdate(.loggedIn, id))
        held.run { [weak self, weak held] in
            for await update in updates {
                self?.onUpdate.withLock { $0 }(update)
                if let held, !held.session.isOpen { self?.forget(held) }
            }
        }
        held.run { [weak self, weak held] in
            guard let held, let reason = await held.waitForEnd() else { return }
            await self?.lock(held, reason)
        }
        held.run { [clock] in await RefreshAhead.run(clock, session) }
    }

    private static let lockedMeanwhile = VaultError(
        .notLoggedIn, "The agent locked all sessions during the login. Log in again.", detail: .sessionClosed)

    // MARK: - The end

    package func lockAll(_ reason: SessionUpdate.Reason) async { await lock(all.map(\.id), reason) }

    /// Locks sessions.
    ///
    /// - Parameter isFinal: whether `vault agent unlock` must not open them again.
    func lock(_ ids: [AccountID], _ reason: SessionUpdate.Reason, isFinal: Bool = false) async {
        let ended = state.withLock { state in
            state.locks &+= 1
            return ids.compactMap { id in
                let held = state.sessions.removeValue(forKey: id)
                if isFinal {
                    state.locked.removeAll { $0 == id }
                } else if held != nil && !state.locked.contains(id) {
                    state.locked.append(id)
                }
                return held
            }
        }
        for held in ended { await end(held, reason) }
    }

    /// Locks one session, unless another one of the same account has replaced it.
    private func lock(_ held: HeldSession, _ reason: SessionUpdate.Reason) async {
        let isHeld = state.withLock { state in
            guard state.sessions[held.id] === held else { return false }
            state.sessions[held.id] = nil
            if !state.locked.contains(held.id) { state.locked.append(held.id) }
            return true
        }
        if isHeld { await end(held, reason) }
    }

    private func end(_ held: HeldSession, _ reason: SessionUpdate.Reason) async {
        keepIfUnfinished(held)
        // The lock notifies the listener, which is one of the tasks.
        await held.session.lock(.locked, reason: reason)
        held.opener.forgetSecrets()
        // A renewal may have begun before the lock.
        keepIfUnfinished(held)
        onUpdate.withLock { $0 }(SessionUpdate(.locked, held.id, reason: reason))
        held.cancelTasks()
    }

    /// Without this, the only copy of the renewed token would be lost.
    private func keepIfUnfinished(_ held: HeldSession) {
        if held.isUnfinished { state.withLock { $0.unfinished[held.id] = held } }
    }

    /// Whether a locked session may have a renewed token that is not stored yet.
    package var hasUnfinished: Bool { state.withLock { $0.unfinished.values.contains(where: \.isUnfinished) } }

    /// Stores the renewed tokens of locked sessions, after the renewals that are under way.
    ///
    /// - Returns: the names of the accounts whose tokens still cannot be stored.
    package func storeUnfinished() async -> [String] {
        var names: [String] = []
        for held in state.withLock({ Array($0.unfinished.values) }) {
            try? await held.opener.accounts.unstored.finish(held.id, in: held.opener.accounts.store)
            if held.opener.accounts.unstored.holds(held.id) { names.append(held.name) }
        }
        return names.sorted()
    }

    /// Forgets the renewed tokens that cannot be stored. Then the agent can end.
    package func giveUpUnfinished() {
        for held in state.withLock({ Array($0.unfinished.values) }) { held.opener.accounts.unstored.giveUp(held.id) }
    }

    private func forget(_ held: HeldSession) {
        let isGone = state.withLock { state in
            guard state.sessions[held.id] === held else { return false }
            state.sessions[held.id] = nil
            return true
        }
        if isGone { held.cancelTasks() }
    }
}
