internal import Foundation
package import VaultAgentProtocol
package import VaultAuth
package import VaultStorage

/// A client of the agent.
package struct AgentClient: SessionAgent {
    /// The agent's socket; nil if there can be none.
    package let path: String?

    /// - Parameter folder: the folder of the accounts.
    package init(folder: String) {
        path = AgentSocket.path(
            runtimeFolder: ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], accountsFolder: folder)
    }

    package init(path: String?) { self.path = path }

    package func attach(_ id: AccountID) async throws -> AttachedAccount {
        let link = AgentSessionLink(client: self, id: id)
        // Before the first look, so that no event in between is missed.
        try await link.watch.begin()
        guard case .attached(let isOffline, let refusal) = try await ask(.attach(AgentAccount(id))) else {
            throw Self.unexpected
        }
        return AttachedAccount(
            link: link, vaultKey: VaultKey(heldBy: link), isOffline: isOffline, refusal: refusal.map(VaultError.init))
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

    /// Sends a request on a connection and waits on a new thread: Dispatch and Swift's tasks have only a few threads.
    func ask(_ request: AgentRequest, on connection: AgentConnection) async throws -> AgentAnswer {
        let answer = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { @Sendable in
                    continuation.resume(
                        with: Result { () throws(AgentProtocolError) in try connection.ask(request) }
                            .mapError { VaultError($0) })
                }
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
    package init(_ failure: AgentFailure) {
        self.init(Code(name: failure.code), failure.message)
    }

    package init(_ error: AgentProtocolError) {
        let again = "Type: vault agent stop || pkill -f 'vault.* agent start'; vault login"
        switch error {
        case .unreachable:
            self.init(.notLoggedIn, "No agent runs, or it ended. To log in: vault login")
        case .ended:
            self.init(.busy, "The agent ended before it answered. Try again.", underlying: error)
        case .timedOut:
            self.init(.busy, "The agent does not answer. Try again. To end the agent: pkill -f 'vault.* agent start'")
        case .notOurs:
            self.init(
                .configurationInvalid,
                "Another user's program has the agent's socket. To remove it: rm -r \"$XDG_RUNTIME_DIR/credential-vault\""
            )
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
