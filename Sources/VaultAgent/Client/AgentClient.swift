internal import Foundation
package import VaultAgentProtocol
package import VaultAuth
package import VaultStorage

/// Asks the agent.
package struct AgentClient: SessionAgent {
    /// The agent's socket; nil where there can be no agent.
    package let path: String?

    /// - Parameter folder: the folder of the accounts.
    package init(folder: String) {
        path = AgentSocket.path(
            runtimeFolder: ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], accountsFolder: folder)
    }

    package init(path: String?) { self.path = path }

    package func attach(_ id: AccountID) async throws -> AttachedAccount {
        let link = AgentSessionLink(client: self, id: id)
        // Before the first look, so that nothing is missed in between.
        try await link.watch.begin()
        guard case .attached(let isOffline, let refusal) = try await ask(.attach(AgentAccount(id))) else {
            throw Self.unexpected
        }
        return AttachedAccount(
            link: link, vaultKey: VaultKey(heldBy: link), isOffline: isOffline, refusal: refusal.map(VaultError.init))
    }

    /// Sends a request, on a connection of its own.
    ///
    /// - Parameter patience: how many seconds the agent may take; nil for no limit. It may have to ask a person, or the
    ///   provider.
    /// - Returns: any answer but `failed`.
    /// - Throws: ``VaultError``: what the agent answered; `notLoggedIn` when no agent runs.
    package func ask(_ request: AgentRequest, patience: Int? = 120) async throws -> AgentAnswer {
        try await ask(request, on: connection(patience: patience))
    }

    /// Sends a request on a connection, and waits on a thread of its own: those of Dispatch and of Swift's tasks are few.
    func ask(_ request: AgentRequest, on connection: AgentConnection) async throws -> AgentAnswer {
        let answer = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { @Sendable in
                    continuation.resume(with: Result { try connection.ask(request) })
                }
            }
        } onCancel: {
            connection.interrupt()
        }
        if case .failed(let failure) = answer { throw VaultError(failure) }
        return answer
    }

    /// A connection to the agent.
    package func connection(patience: Int?) throws -> AgentConnection {
        guard let path else { throw Self.noPlace }
        do {
            return try AgentConnection(path: path, patience: patience)
        } catch {
            throw VaultError(error)
        }
    }

    /// Without a runtime folder, "vault login" starts no agent: the usual advice would lead in a circle.
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
    package init(_ failure: AgentFailure) {
        self.init(Code(name: failure.code), failure.message)
    }

    package init(_ error: AgentProtocolError) {
        let again = "Type: vault agent stop || pkill -f 'vault.* agent start'; vault login"
        switch error {
        case .unreachable:
            self.init(.notLoggedIn, "No agent runs, or it ended. Log in: vault login")
        case .timedOut:
            self.init(.busy, "The agent does not answer. Try again, or end it: pkill -f 'vault.* agent start'")
        case .notOurs:
            self.init(
                .configurationInvalid,
                "Another user's program has the agent's socket. Remove it: rm -r \"$XDG_RUNTIME_DIR/credential-vault\"")
        case .otherVersion(let version):
            self.init(
                .configurationInvalid,
                "The agent and this program have different versions (\(version), \(MessageFrame.version)). \(again)"
            )
        case .malformed, .tooLong:
            self.init(.configurationInvalid, "The agent and this program do not understand each other. \(again)")
        }
    }
}

extension AgentAccount {
    package init(_ id: AccountID) { self.init(issuer: id.issuer, subject: id.subject) }
}

extension AccountID {
    package init(_ account: AgentAccount) { self.init(issuer: account.issuer, subject: account.subject) }
}
