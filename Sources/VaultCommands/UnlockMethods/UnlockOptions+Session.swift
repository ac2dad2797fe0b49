internal import CredentialVault

// Opening an account for a session.
extension UnlockOptions {
    /// Opens the vault with the limit for opening without the network.
    ///
    /// - Parameter change: changes the settings that are in force.
    func openVault(
        _ global: GlobalOptions, _ change: (inout VaultConfiguration) -> Void = { _ in }
    ) async throws -> Vault {
        let vault = try await global.openVault {
            $0.issuer = global.issuer
            if let offlineMaximumAge { $0.offlineMaximumAge = offlineMaximumAge }
            change(&$0)
        }
        // Checked before the person types a secret that opens nothing.
        if let named { try vault.storage.policy.requireAllowed(named) }
        return vault
    }

    /// Opens the account with the methods of ``methods(for:in:_:isReusable:changesMethods:fallsBack:_:)``.
    ///
    /// If nothing is named or given and the agent holds the account open, the session is the agent's. If the owner
    /// revoked this device, the agent's session ends.
    ///
    /// - Parameters:
    ///   - isReusable: refuses a recovery code, for commands that cannot show the new code.
    ///   - mayAttach: whether to use the agent's session, which hands out no refresh token.
    ///   - needsToken: refuses an account without a token, or whose token the provider refused for good, before anybody
    ///     is asked.
    ///   - asksAgain: whether the provider is asked once more after a refusal.
    func session(
        of account: Account, in vault: Vault, isReusable: Bool = false, mayAttach: Bool = true,
        needsToken: Bool = false, asksAgain: Bool = false, _ global: GlobalOptions
    ) async throws -> Session {
        try await AgentSessions.ending(account.id, ifRevoked: global) {
            // The agent's session gives no token after a refusal. Opened here, the account asks the provider again,
            // unless it has noted that the refusal was final.
            var refusal: VaultError?
            if isReusable && mayAttach, let session = try await attached(to: account, in: vault) {
                refusal = session.refusal
                guard refusal != nil, needsToken || asksAgain else { return session }
            }
            if needsToken, let refusal = account.refusal { throw refusal }
            let terminal = try await Asking.terminal()
            try vault.storage.policy.requireAllowedServers(of: account)
            // A login renews the tokens, so an access token is not enough.
            if needsToken { try await vault.requireToken(of: account, renews: !isReusable) }
            let settings = try await Settings(global)
            // If nothing opens the account here, the refusal says more to a script than the missing terminal.
            if let refusal, !terminal.isInteractive,
                await UnlockOrder.unasked(of: account, vault.storage.policy, Hardware(settings)) == nil
            {
                throw refusal
            }
            if isReusable, mayAttach, !agent.noAgent, !terminal.isInteractive, try AgentSessions(settings).isUsed {
                await Asking.suggestLogin(user: vault.storage.userOption(of: account.id))
            }
            let isAsked = isReusable && mayAttach && !agent.noAgent && !password.isGiven
            let staysOpen = try isAsked ? AskedSession.isKept(settings) : !isReusable && !agent.noAgent
            let session = try await opened(
                account, in: vault, terminal, isReusable: isReusable,
                leavingTo: staysOpen ? AgentSessions(settings) : nil, global)
            if isAsked { AskedSession.note(session) }
            return session
        }
    }

    /// - Parameter agent: the agent that may get the session; nil if the session ends with the command.
    private func opened(
        _ account: Account, in vault: Vault, _ terminal: any Terminal, isReusable: Bool,
        leavingTo agent: AgentSessions?, _ global: GlobalOptions
    ) async throws -> Session {
        let isQuiet = global.json
        func session(_ method: UnlockMethod) async throws -> Session {
            let text = "Opening \(Printable.text(account.displayName))"
            let isLocked = await isKnownLocked(method.kind, of: account, in: vault, terminal)
            return try await Spinner.during(text, because: isLocked ? Self.lockedWait : nil, isQuiet: isQuiet) {
                await agent?.noteLocks(global)
                return try await vault.auth.unlock(account.id, with: method)
            }
        }
        return try await methods(
            for: account, in: vault, terminal, isReusable: isReusable, fallsBack: true, global
        ).opening(session)
    }

    /// The key service answers for ten seconds that a key without guesses is busy, because a right guess may come.
    private static let lockedWait = "The key was locked. If that was a moment ago, the answer takes 10 seconds"

    /// Whether the key of an unlock method was locked at the last guess on this machine. Without a terminal, nobody looks
    /// at the spinner.
    private func isKnownLocked(
        _ kind: Keyslot.Kind, of account: Account, in vault: Vault, _ terminal: any Terminal
    ) async -> Bool {
        guard terminal.isInteractive else { return false }
        let summaries = try? await vault.storage.keyslotSummaries(of: account.id)
        return summaries?.contains { $0.kind == kind && $0.state == .locked } ?? false
    }

    /// The agent's session; nil if there is none, or if an option names an unlock method or gives a secret.
    func attached(to account: Account, in vault: Vault) async throws -> Session? {
        guard !agent.noAgent, !isNamed, !password.isGiven, try await Settings().usesAgent else { return nil }
        do {
            return try await vault.auth.attach(account.id)
        } catch let error as VaultError where error.code == .notLoggedIn {
            return nil
        }
    }

    /// Reads the secret of an unlock method, or asks for it, and makes the method.
    ///
    /// - Parameters:
    ///   - prompt: how to ask for the password.
    ///   - ending: more words of the question.
    ///   - canBeSkipped: whether another unlock method is tried when the person types nothing.
    func method(
        _ kind: Keyslot.Kind, for account: Account, _ terminal: any Terminal, password prompt: String = "Password",
        ending: String = "", canBeSkipped: Bool = false
    ) async throws -> UnlockMethod {
        guard let name = MethodKind.of(kind)?.secretName else {
            let provider = try await Hardware(Settings()).provider(kind, at: hardware.address)
            let source = password.isGiven ? password.source : nil
            return guarded(
                .hardware(
                    provider,
                    TerminalPrompt(terminal: terminal, source: source, ending: ending, canBeSkipped: canBeSkipped)))
        }
        let question = "\(kind == .password ? prompt : name) of \(Printable.text(account.displayName))\(ending): "
        let secret = SharedSecret(try await password.source.password(question, terminal))
        if canBeSkipped && secret.bytes.count == 0 { throw SkippedMethod() }
        return guarded(.typing(secret, as: kind))
    }

    /// The unlock method, which spends the last guess only if an option says so.
    private func guarded(_ method: UnlockMethod) -> UnlockMethod { lastGuess ? method.spendingLastGuess : method }
}

extension Vault {
    /// Refuses an account without a token, before a person types a secret in vain.
    ///
    /// - Parameter renews: whether only a refresh token helps. Otherwise a stored access token may still be valid.
    func requireToken(of account: Account, renews: Bool) async throws {
        if try await storage.hasItem(.refreshToken, of: account.id) { return }
        if !renews, try await storage.hasItem(.accessToken, of: account.id) { return }
        throw VaultError.noRefreshToken(account.id, account)
    }
}

extension Account {
    /// Whether an unlock method opens the account without the key service.
    ///
    /// - Parameter fallsBack: whether the password stands for the offline method.
    func opens(offline kind: Keyslot.Kind, fallsBack: Bool) -> Bool {
        let kind = fallsBack && kind == .password && hasKeyService ? .offline : kind
        return keyslots.contains { $0.kind == kind && !$0.needsKeyService }
    }

    /// The error if the password is needed and there is none.
    var withoutPassword: VaultError {
        let options = keyslots.compactMap { slot -> String? in
            slot.kind.isOfPassword ? nil : slot.kind.option
        }
        let rest = Set(options).sorted().joined(separator: ", ")
        return VaultError(
            .notEnrolled, "\(displayName) has no password." + (rest.isEmpty ? "" : " Use: \(rest)"))
    }
}

/// Thrown when the person typed nothing and wants the next unlock method.
struct SkippedMethod: Error {}
