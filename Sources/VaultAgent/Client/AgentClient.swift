internal import Foundation
package import VaultAgentProtocol
package import VaultAuth
internal import VaultBase
package import VaultStorage
package import VaultUnlock

package struct AgentClient: Sendable {
    /// The agent's socket; nil if there can be none.
    package let path: String?

    package init(folder: String) {
        path = AgentSocket.path(
            runtimeFolder: ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], accountsFolder: folder)
    }

    package init(path: String?) { self.path = path }

    /// Connects to the session of an account. See ``SessionOpener/Attach``.
    package func attach(_ id: AccountID, _ accounts: Accounts) async throws -> SessionOpener.AttachedSession {
        let watch = AgentWatch(client: self, account: AgentAccount(id))
        // Before the first look, so that no event in between is missed.
        try await watch.begin()
        guard case .attached(let contact, let refusal) = try await ask(.attach(AgentAccount(id))) else {
            throw Self.unexpected
        }
        let holder = AgentKeyHolder(client: self, id: id)
        var accounts = accounts
        accounts.ownerTokens = AgentOwnerTokens(holder: holder, clock: accounts.clock)
        let stored = try? await accounts.account(id)
        let account = UnlockedAccount(
            id, vaultKey: VaultKey(heldBy: holder), accounts: accounts, hasKeyService: stored?.hasKeyService ?? true)
        return .init(
            backend: AgentSession(account, holder, watch), contact: SessionContact(contact),
            refusal: refusal.map(VaultError.init), updates: { watch.updates() })
    }

    /// Sends a request on a new connection.
    ///
    /// - Parameter timeout: the longest wait for the agent, in seconds; nil for no limit. The agent may have to ask a
    ///   person or the provider.
    /// - Returns: any answer but `failed`.
    /// - Throws: ``VaultError`` with the agent's error, or `notLoggedIn` if no agent runs: log in.
    package func ask(_ request: AgentRequest, timeout: Int? = 120) async throws -> AgentAnswer {
        try await ask(request, on: connection(timeout: timeout))
    }

    /// Sends a request on a connection, and waits for the answer.
    func ask(_ request: AgentRequest, on connection: AgentConnection) async throws -> AgentAnswer {
        let answer = try await withTaskCancellationHandler {
            try await onThread {
                do throws(AgentProtocolError) { return try connection.ask(request) } catch { throw VaultError(error) }
            }
        } onCancel: {
            connection.interrupt()
        }
        if case .failed(let failure) = answer { throw VaultError(failure) }
        return answer
    }

    /// Opens a connection to the agent.
    package func connection(timeout: Int?) throws -> AgentConnection {
        guard let path else { throw Self.noPlace }
        do {
            return try AgentConnection(path: path, timeout: timeout)
        } catch {
            throw VaultError(error)
        }
    }

    /// Without a runtime folder, "vault login" starts no agent, so the usual advice would not help.
    static let noPlace = VaultError(
        .notLoggedIn,
        "No agent can run here. It needs XDG_RUNTIME_DIR: a folder that only you can use, with a path of at most 60 characters."
    )

    static let unexpected = VaultError(AgentProtocolError.malformed)
}

extension AgentProtocolError: VaultErrorConvertible {
    package var vaultError: VaultError { VaultError(self) }
}

extension VaultError {
    package init(_ error: AgentProtocolError) {
        let again = "End the agent, then log in."
        switch error {
        case .unreachable:
            self.init(.notLoggedIn, "No agent runs, or it ended.", detail: .noAgent)
        case .ended:
            self.init(.busy, "The agent ended before it answered. Try again.", underlying: error)
        case .timedOut:
            self.init(.busy, "The agent does not answer. Try again.", detail: .agentSilent)
        case .notOurs:
            self.init(
                .configurationInvalid,
                "Another user's program has the agent's socket. Remove its folder in XDG_RUNTIME_DIR.",
                detail: .agentSocketTaken)
        case .otherVersion(let version):
            self.init(
                .configurationInvalid,
                "The agent and this program have different versions (\(version), \(MessageFrame.version)). \(again)",
                detail: .agentOfOtherVersion)
        case .malformed, .tooLong:
            self.init(
                .configurationInvalid, "The agent and this program do not understand each other. \(again)",
                detail: .agentOfOtherVersion)
        }
    }
}

extension AgentAccount {
    package init(_ id: AccountID) { self.init(issuer: id.issuer, subject: id.subject) }
}

extension AccountID {
    package init(_ account: AgentAccount) { self.init(issuer: account.issuer, subject: account.subject) }
}

extension AgentContact {
    package init(_ contact: SessionContact) {
        self.init(
            isOffline: contact.isOffline, isConfirmed: contact.isConfirmed, mayBeRevoked: contact.mayBeRevoked)
    }
}

extension SessionContact {
    package init(_ contact: AgentContact) {
        self.init(
            isOffline: contact.isOffline, isConfirmed: contact.isConfirmed, mayBeRevoked: contact.mayBeRevoked)
    }
}
