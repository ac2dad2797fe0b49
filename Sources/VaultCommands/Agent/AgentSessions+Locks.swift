internal import CredentialVault
internal import VaultAgent
internal import VaultAgentProtocol
internal import VaultBase

// The agent's locks. A session that a secret opened must not come back after a lock, because the person may have gone.
extension AgentSessions {
    /// The answer of the agent before a secret opened the last account.
    private static let noted = Lock<Result<UInt64, any Error>?>(nil)

    /// Notes the locks of the agent. Call this when the person has given the secret of an account that stays open.
    ///
    /// Hardware asks for its PIN while the account opens, so a lock during that question counts, too.
    func noteLocks(_ global: GlobalOptions) async {
        guard isUsed else { return }
        let answer: Result<UInt64, any Error>
        do { answer = .success(try await locks(global)) } catch { answer = .failure(error) }
        Self.noted.withLock { $0 = answer }
    }

    /// The noted locks. If none were noted, the locks of now: no secret opened the account.
    ///
    /// - Throws: ``VaultError`` if the agent did not answer.
    func notedLocks(_ global: GlobalOptions) async throws -> UInt64 {
        guard let noted = Self.noted.withLock({ $0 }) else { return try await locks(global) }
        return try noted.get()
    }

    /// Asks the agent. Starts it if none runs, because nobody else notices that the screen was locked.
    private func locks(_ global: GlobalOptions) async throws -> UInt64 {
        do {
            return try await askForLocks()
        } catch let error as VaultError where error.code == .notLoggedIn || error.isAgentEnding {
            try await AgentLauncher.start(global)
            return try await askForLocks()
        }
    }

    private func askForLocks() async throws -> UInt64 {
        guard case .locks(let number) = try await client.ask(.locks, timeout: 10) else {
            throw VaultError(AgentProtocolError.malformed)
        }
        return number
    }
}

extension VaultError {
    /// Whether the agent ended while it was asked.
    fileprivate var isAgentEnding: Bool {
        if case .ended? = underlying as? AgentProtocolError { true } else { false }
    }
}
