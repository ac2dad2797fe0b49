internal import VaultAgentProtocol
internal import VaultAuth
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage
internal import VaultUnlock

/// One open account in the agent.
final class HeldSession: Sendable {
    let account: Account
    let opener: SessionOpener
    let session: Session
    let backend: LocalSession
    private let bounds: Lock<SessionBounds>
    private let clock: SteadyClock
    /// The processes that the person has allowed to use the session.
    private let allowed = Lock<Set<AskingProcess>>([])
    /// The tickets of programs whose person gave a secret, with the times of their ends, oldest first.
    private let tickets = Lock<[(ticket: [UInt8], end: Duration)]>([])
    /// The tasks of the session; nil after its end.
    private let tasks = Lock<[Task<Void, Never>]?>([])

    /// - Parameters:
    ///   - account: the account as it is stored now.
    ///   - rules: the limits that were asked for. The policy may set shorter ones.
    init(
        account: Account, opener: SessionOpener, opened: (session: Session, backend: LocalSession), rules: HoldingRules,
        policy: WatchedPolicy.Reading, clock: SteadyClock
    ) {
        self.account = account
        self.opener = opener
        (session, backend) = opened
        self.clock = clock
        let opening = opener.opening(of: account, nil, under: policy.policy)
        var bounds = SessionBounds(opening, idle: rules.idle, lifetime: rules.lifetime, now: clock.now())
        bounds.obey(policy.policy, number: policy.number)
        self.bounds = Lock(bounds)
    }

    var id: AccountID { account.id }

    /// The name of the account for people.
    var name: String { account.displayName }

    /// Notes that a program uses the session.
    ///
    /// - Returns: the reason why the session must be locked instead; nil if it may be used.
    func use(under policy: WatchedPolicy.Reading) -> SessionUpdate.Reason? {
        let reason = overdue(under: policy)
        let now = clock.now()
        if reason == nil { bounds.withLock { $0.use(now: now) } }
        return reason
    }

    /// Applies a policy, without a use of the session.
    ///
    /// - Parameter policy: nil if the policy cannot be read now. Then the last one still holds.
    /// - Returns: the reason why the session must be locked now; nil if it may go on.
    func overdue(under policy: WatchedPolicy.Reading?) -> SessionUpdate.Reason? {
        let (now, isOffline) = (clock.now(), !session.isConfirmed)
        return bounds.withLock { bounds in
            if let policy { bounds.obey(policy.policy, number: policy.number) }
            return bounds.overdue(now: now, isOffline: isOffline)
        }
    }

    /// Waits until the session must be locked.
    ///
    /// - Returns: the reason; nil if there is no limit, or if the task was cancelled.
    func waitForEnd() async -> SessionUpdate.Reason? {
        while let end = bounds.withLock({ [session] in $0.times.end(isOffline: !session.isConfirmed) }) {
            guard (try? await clock.sleep(end)) != nil else { return nil }
            if let reason = overdue(under: nil) { return reason }
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
    var isUnfinished: Bool { opener.accounts.unstored.holds(id) || opener.accounts.stopGuard.isActive }

    func allows(_ process: AskingProcess) -> Bool { allowed.withLock { $0.contains(process) } }

    /// Allows a process. Those that have ended are forgotten, so that the list stays short.
    func allow(_ process: AskingProcess) {
        allowed.withLock { allowed in
            allowed = allowed.filter(\.isRunning)
            allowed.insert(process)
        }
    }

    /// Returns a ticket for a program whose person has just given a secret.
    func newTicket() throws -> [UInt8] {
        let ticket = try SecretBytes.random(count: 32).withUnsafeBytes { Array($0) }
        let now = clock.now()
        tickets.withLock { tickets in
            tickets.removeAll { $0.end <= now }
            tickets = tickets.suffix(15) + [(ticket, now + SessionProofs.ofSecret)]
        }
        return ticket
    }

    func accepts(_ ticket: [UInt8]) -> Bool {
        let now = clock.now()
        return tickets.withLock { $0.contains { $0.end > now && $0.ticket == ticket } }
    }

    var holding: AgentHolding {
        let now = clock.now()
        let (idle, lifetime) = bounds.withLock { ($0.times.idleLeft(now: now), $0.times.lifetimeLeft(now: now)) }
        return AgentHolding(
            account: AgentAccount(id), name: name, isOffline: session.isOffline,
            idleLeft: idle.map { $0 / .seconds(1) }, lifetimeLeft: lifetime.map { $0 / .seconds(1) },
            refusal: session.refusal.map(AgentFailure.init))
    }
}

extension HoldingRules {
    /// The longest time without use; nil for no limit.
    fileprivate var idle: Duration? { idleSeconds == 0 ? nil : .seconds(Int64(idleSeconds)) }

    /// The longest time in any case; nil for no limit.
    fileprivate var lifetime: Duration? { lifetimeSeconds == 0 ? nil : .seconds(Int64(lifetimeSeconds)) }
}
