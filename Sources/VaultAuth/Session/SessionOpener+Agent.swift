package import VaultStorage
package import VaultUnlock

// Sessions that an agent holds open for several programs.
extension SessionOpener {
    /// Connects to the agent's session of an account.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if no agent runs, or if it does not hold the account: log in.
    package typealias Attach = @Sendable (AccountID, Accounts) async throws -> AttachedSession

    /// A session that the agent holds.
    package struct AttachedSession: Sendable {
        let backend: any SessionBackend
        let contact: SessionContact
        let refusal: VaultError?
        let updates: @Sendable () -> AsyncStream<SessionUpdate>

        /// - Parameters:
        ///   - backend: asks the agent.
        ///   - contact: what the servers have said to the agent.
        ///   - refusal: the provider's refusal of the account; nil if there is none.
        ///   - updates: returns the events of the session in the agent. The stream ends with `locked` when the agent
        ///     ends.
        package init(
            backend: any SessionBackend, contact: SessionContact, refusal: VaultError?,
            updates: @escaping @Sendable () -> AsyncStream<SessionUpdate>
        ) {
            self.backend = backend
            self.contact = contact
            self.refusal = refusal
            self.updates = updates
        }
    }

    /// Opens an account through the agent, without a secret.
    ///
    /// - Returns: the session, and a function that lets it follow the agent's events.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if no agent runs or if it does not hold the account: log in.
    func attach(_ account: Account) async throws -> (session: Session, follow: () -> Void) {
        guard let agent else { throw VaultError.noAgent(account) }
        return try await VaultError.converting {
            let source = issuers.source(of: account)
            try accounts.requireAllowedServers(of: account)
            let attached = try await agent(account.id, accounts)
            let phase: SessionState.Phase = attached.refusal.map { .refused($0) } ?? .loggedIn
            // Without an issuer that this program knows, no call could work.
            _ = try issuers.issuer(source)
            let session = session(attached.backend, source, SessionState(phase, adopting: attached.contact))
            return (
                session,
                {
                    let updates = attached.updates()
                    Task { [weak session] in
                        for await update in updates { await session?.follow(update) }
                    }
                }
            )
        }
    }
}

extension VaultError {
    package static func noAgent(_ account: Account) -> VaultError {
        VaultError(
            .notLoggedIn, "\(account.displayName) is not logged in.", detail: .sessionClosed,
            value: account.displayName)
    }
}
