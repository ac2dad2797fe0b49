internal import VaultAgentProtocol
internal import VaultAuth
internal import VaultLocks
internal import VaultStorage

/// One open account in the agent.
final class HeldSession: Sendable {
    let id: AccountID
    /// The name of the account for people.
    let name: String
    let auth: Auth
    let session: Session
    private let times: Lock<HoldingTimes>
    private let clock: SteadyClock
    /// The programs that the person has allowed to use the session.
    private let allowed = Lock<Set<String>>([])
    /// The tasks of the session; nil after its end.
    private let tasks = Lock<[Task<Void, Never>]?>([])

    init(account: Account, auth: Auth, session: Session, rules: HoldingRules, clock: SteadyClock) {
        id = account.id
        name = account.displayName
        self.auth = auth
        self.session = session
        self.clock = clock
        times = Lock(HoldingTimes(rules, now: clock.now()))
    }

    /// Notes that a program uses the session.
    ///
    /// - Returns: the reason why the session must be locked instead; nil if it may be used.
    func use() -> SessionUpdate.Reason? {
        let now = clock.now()
        return times.withLock { times in
            if let reason = times.overdue(now: now) { return reason }
            times.use(now: now)
            return nil
        }
    }

    /// Waits until the session must be locked.
    ///
    /// - Returns: the reason; nil if there is no limit, or if the task was cancelled.
    func waitForEnd() async -> SessionUpdate.Reason? {
        while let end = times.withLock({ $0.end }) {
            guard (try? await clock.sleep(end)) != nil else { return nil }
            if let reason = times.withLock({ $0.overdue(now: clock.now()) }) { return reason }
        }
        return nil
    }

    /// Runs a task for as long as the session is held.
    func run(_ body: @escaping @Sendable () async -> Void) {
        tasks.withLock { tasks in
            if tasks != nil { tasks?.append(Task { await body() }) }
        }
    }

    /// Ends the tasks of ``run(_:)`` for good.
    func cancelTasks() {
        let ended = tasks.withLock { tasks in
            defer { tasks = nil }
            return tasks ?? []
        }
        for task in ended { task.cancel() }
    }

    /// Whether a token is being renewed, or a renewed token is not stored yet.
    var isUnfinished: Bool { auth.accounts.unstored.holds(id) || auth.stopGuard.isActive }

    func allows(_ program: String) -> Bool { allowed.withLock { $0.contains(program) } }

    func allow(_ program: String) { allowed.withLock { _ = $0.insert(program) } }

    var holding: AgentHolding {
        let now = clock.now()
        let (idle, lifetime) = times.withLock { ($0.idleLeft(now: now), $0.lifetimeLeft(now: now)) }
        return AgentHolding(
            account: AgentAccount(id), name: name, isOffline: session.isOffline,
            idleLeft: idle.map { $0 / .seconds(1) }, lifetimeLeft: lifetime.map { $0 / .seconds(1) },
            refusal: session.refusal.map(AgentFailure.init))
    }
}
