internal import CredentialVault
internal import Foundation
internal import VaultAgent
internal import VaultAgentProtocol

/// The agent, as the commands use it.
struct AgentSessions {
    let client: AgentClient
    /// Reaches an agent also from a place without XDG_RUNTIME_DIR, such as cron or ssh: what must be locked is looked
    /// for in the folder that systemd gives each user.
    private let anyClient: AgentClient
    /// Whether the settings allow an agent, and its socket has a path.
    let isUsed: Bool

    /// Whether the settings allow an agent, but it has no runtime folder.
    let lacksPlace: Bool

    /// Whether there can be an agent: it needs a runtime folder.
    var hasPlace: Bool { client.path != nil }

    init(_ settings: Settings) throws {
        client = AgentClient(folder: settings.agentFolder)
        let isAllowed = try settings.usesAgent
        isUsed = isAllowed && client.path != nil
        lacksPlace = isAllowed && client.path == nil
        let usual = AgentSocket.path(runtimeFolder: "/run/user/\(geteuid())", accountsFolder: settings.agentFolder)
        anyClient = client.path == nil ? AgentClient(path: usual) : client
    }

    /// Leaves a session to the agent, with what the servers have said about it.
    ///
    /// - Throws: ``VaultError`` if the agent does not hold the session. With code `notLoggedIn`, somebody locked since
    ///   ``noteLocks(_:)``.
    func hold(_ session: Session, _ rules: HoldingRules, _ global: GlobalOptions) async throws {
        guard let key = try await session.openVaultKey().bytes else { return }
        let locks = try await notedLocks(global)
        let bytes = key.bytes.withUnsafeBytes { Array($0) }
        _ = try await client.ask(
            .hold(AgentAccount(session.id), vaultKey: bytes, rules, AgentContact(session.contact), locks: locks),
            timeout: 10)
    }

    /// Locks a session, or all of them. With ``openBeforeLock()``, a command waits 8 seconds at most.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn` when no agent runs.
    func lock(_ id: AccountID?) async throws {
        _ = try await anyClient.ask(.lock(id.map(AgentAccount.init), isFinal: false), timeout: 6)
    }

    /// The accounts that the agent holds open before a lock; none if no agent runs. Fails if the agent does not answer
    /// soon: the lock itself then gets the rest of the time.
    func openBeforeLock() async -> Result<[AccountID], any Error> {
        do {
            guard case .status(let status) = try await anyClient.ask(.status, timeout: 2) else {
                throw VaultError(AgentProtocolError.malformed)
            }
            return .success(status.sessions.map { AccountID($0.account) })
        } catch let error as VaultError where error.code == .notLoggedIn {
            return .success([])
        } catch {
            return .failure(error)
        }
    }

    /// Locks a session for good. Does nothing if no agent runs.
    func forget(_ id: AccountID) async throws {
        AskedSession.forget(id)
        guard anyClient.path != nil else { return }
        do {
            _ = try await anyClient.ask(.lock(AgentAccount(id), isFinal: true), timeout: 8)
        } catch let error as VaultError where error.code == .notLoggedIn {
            // No agent runs.
        }
    }

    /// As ``forget(_:)``, but returns an error, so that the caller can still tell the server of a logout if the agent
    /// hangs.
    ///
    /// - Returns: the error; nil if the agent no longer holds the session.
    func failureToForget(_ id: AccountID) async throws -> VaultError? {
        do {
            try await forget(id)
            return nil
        } catch let error as VaultError where error.code != .cancelled {
            return error
        }
    }

    /// Runs a call that opens an account or changes the unlock methods of it. If the owner revoked this device, ends
    /// the agent's session, too.
    static func ending<R>(
        _ id: AccountID, ifRevoked global: GlobalOptions, _ body: () async throws -> R
    ) async throws -> R {
        do {
            return try await body()
        } catch let error as VaultError where error.code == .deviceRevoked {
            try? await AgentSessions(Settings(global)).forget(id)
            throw error
        }
    }

    /// - Throws: ``VaultError``: `notLoggedIn` when no agent runs.
    func status() async throws -> AgentStatus {
        guard case .status(let status) = try await client.ask(.status, timeout: 10) else {
            throw VaultError(AgentProtocolError.malformed)
        }
        return status
    }

    /// The status of the agent; nil if no agent runs.
    func statusIfRuns() async throws -> AgentStatus? {
        do {
            return try await status()
        } catch let error as VaultError where error.detail == .noAgent {
            return nil
        }
    }

    /// The session that the agent holds of an account; nil when there is none.
    func holding(_ id: AccountID) async -> AgentHolding? {
        guard isUsed else { return nil }
        return try? await status().sessions.first { AccountID($0.account) == id }
    }

    /// The accounts that the agent holds open; empty if no agent runs, or if it does not answer.
    func openAccounts() async -> [AccountID] {
        guard isUsed else { return [] }
        return (try? await status().sessions.map { AccountID($0.account) }) ?? []
    }

    /// Locks everything and ends the agent. Returns when it has ended.
    ///
    /// - Parameter isForced: whether the agent ends even if a renewed token cannot be stored. The token is then lost.
    /// - Returns: a message for the person; nil if nothing was lost.
    /// - Throws: ``VaultError``: `notLoggedIn` if no agent runs, `storeUnreadable` if it goes on with such a token.
    func stop(isForced: Bool) async throws -> String? {
        let connection = try client.connection(timeout: 30)
        // The agent may have to wait for the provider, and then for the store.
        let answer = try await client.ask(.stop(isForced: isForced), timeout: 60)
        // The connection ends when the agent ends.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { @Sendable in
                _ = try? connection.next()
                continuation.resume()
            }
        }
        return if case .text(let note) = answer { note } else { nil }
    }
}

extension Settings {
    /// The folder of the accounts. The name of the agent's socket depends on it.
    var agentFolder: String {
        guard let home = self[.home] else { return Vault.standardFolder }
        return home.hasPrefix("/") ? home : FileManager.default.currentDirectoryPath + "/" + home
    }

    var usesAgent: Bool {
        get throws { try self[.agent].map(Name.agent.isOn) ?? true }
    }
}
