internal import CredentialVault

/// The result of a new vault key, for the person: the unlock methods that ended, and what became of the old tokens.
struct NewVaultKey {
    private let replacement: VaultKeyReplacement
    /// Whether the agent held the account open. Its session had the old vault key, so it is locked.
    private let wasHeld: Bool

    /// Locks the agent's session, and stores a renewed token that could not be stored yet.
    init(
        _ replacement: VaultKeyReplacement, of id: AccountID, _ session: Session?, _ global: GlobalOptions
    ) async throws {
        self.replacement = replacement
        if let session, await session.holdsUnstoredToken {
            _ = try? await session.retryingAccessToken(forceRefresh: false)
        }
        let agent = try await AgentSessions(Settings(global))
        wasHeld = await agent.holding(id) != nil
        // If the agent cannot be asked now, its session locks at the next write or renewal.
        if wasHeld { try? await agent.lock(id) }
    }

    /// The unlock methods that ended, as words.
    var ended: [String] { replacement.endedKeyslots.map(\.kind.rawValue) }

    var report: Report {
        Report(
            oldTokenReplaced: replacement.isOldTokenReplaced, tokenError: replacement.tokenError?.description,
            agentLocked: wasHeld)
    }

    /// Tells the person all of it.
    ///
    /// - Parameter kept: the unlock method that still opens the account.
    func tell(keeping kept: Keyslot.Kind = .password) {
        if !ended.isEmpty {
            let names = replacement.endedKeyslots.map { Printable.text($0.name) }.joined(separator: ", ")
            Output.line("These no longer open the account: \(names). To add them again:")
            for kind in Self.unique(replacement.endedKeyslots.map(\.kind)) {
                // A password is set, and not added. Only an app can add hardware of its own.
                guard let words = kind == .password ? "passwd \(kept.option)" : kind.adding else { continue }
                Output.line("  \(Proposed.command(words))")
            }
        }
        if wasHeld { Output.line("The agent locked its session. To log in again: \(Proposed.command("login"))") }
        if let error = replacement.tokenError {
            Output.note(
                "vault: the refresh token was not renewed, so the old one may still work: \(error.text)")
            if !error.isRefreshTokenExpired {
                Output.note("vault: to renew it: \(Proposed.command("token --refresh"))")
            }
        } else if !replacement.isOldTokenReplaced {
            Output.note(
                "vault: the identity provider issued no other refresh token. Register again: the old token still works. \(Proposed.registering("Type"))"
            )
        }
    }

    private static func unique(_ kinds: [Keyslot.Kind]) -> [Keyslot.Kind] {
        var seen: Set<Keyslot.Kind> = []
        return kinds.filter { seen.insert($0).inserted }
    }

    /// A new vault key in JSON.
    struct Report: Encodable {
        /// Whether the provider issued another refresh token, so that the old one is dead.
        let oldTokenReplaced: Bool
        /// The reason why no token was renewed; nil if it was.
        let tokenError: String?
        /// Whether the agent's session was locked.
        let agentLocked: Bool
    }
}

extension NewVaultKey {
    /// Asks before other unlock methods end.
    ///
    /// - Parameters:
    ///   - purpose: what the command does, for the advice to add --yes.
    ///   - question: a question that is answered with yes or no.
    /// - Throws: `VaultError` with code `configurationInvalid` if nobody can be asked, or `cancelled`.
    static func requireConsent(
        toKeep kept: Keyslot.Kind, of account: Account, to purpose: String, _ question: String,
        _ terminal: any Terminal, _ global: GlobalOptions
    ) async throws {
        // Of several pieces of hardware only the one that is there stays.
        let others = account.keyslots.filter { $0.kind != kept }
        guard !others.isEmpty else { return }
        let names = others.map { Printable.text($0.label ?? $0.kind.listName) }.joined(separator: ", ")
        guard !global.json, terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid, "These unlock methods would end: \(names). To \(purpose), add --yes.")
        }
        terminal.tell("These unlock methods end: \(names). You can add them again afterwards.")
        guard try await terminal.confirm(question) else { throw VaultError(.cancelled, "Nothing was changed.") }
    }
}
