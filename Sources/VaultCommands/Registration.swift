internal import CredentialVault

/// The second half of `vault register`: the person has signed in, and the refresh token is stored under a password. For
/// an account that is here already, see `Registration+Again.swift`.
struct Registration {
    let vault: Vault
    let hardware: Hardware
    let token: SignInResult
    let alias: String?
    let source: SecretSource
    let terminal: any Terminal
    let mayLoseItems: Bool
    let isQuiet: Bool
    /// Whether the agent holds an account open.
    let isHeld: @Sendable (AccountID) async -> Bool
    /// The prompt for the new password. It differs if the sign-in needed another password.
    var prompt = "New password"
    /// The hardware that opens a new account without a key service; nil for a password.
    var newHardware: (any BiometricProvider)?

    /// The longest wait for the provider when the registration is cancelled.
    private static let timeout = Duration.seconds(5)

    /// Runs the registration. If it fails, or Ctrl-C ends it, revokes the new tokens at the provider.
    ///
    /// - Returns: the unlock method that opens the account now.
    func runOrRevoke() async throws -> UnlockMethod {
        // Half a second more than the provider gets, for the message to the person.
        try await Interruption.cancelling(within: Self.timeout + .milliseconds(500)) {
            do {
                return try await run()
            } catch {
                await revoke()
                throw error
            }
        }
    }

    private func revoke() async {
        // In a new task: this task may be cancelled, and could then neither send nor wait.
        let reason = await Task { await reasonNotRevokedInTime() }.value
        guard let reason, !isQuiet else { return }
        Output.note("vault: this login is still valid at the identity provider: \(reason)")
    }

    private func reasonNotRevokedInTime() async -> String? {
        let (answers, continuation) = AsyncStream.makeStream(of: String?.self)
        let work = Task { continuation.yield(await reasonNotRevoked()) }
        let timer = Task {
            try await ContinuousClock().sleep(for: Self.timeout)
            continuation.yield("the identity provider did not answer in time.")
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        return await answers.first { _ in true } ?? nil
    }

    /// - Returns: nil when the provider ended the login, or why not.
    private func reasonNotRevoked() async -> String? {
        do {
            if let account = try await vault.storage.registeredAccount(token.account),
                account.clientID == token.clientID, account.method == token.method,
                try await vault.storage.hasItem(.refreshToken, of: account.id)
            {
                // Many providers then revoke all tokens of the client and person (RFC 7009 section 2.1 allows that).
                // Only an account that opens can ask the provider for that.
                let slots = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
                let isShut =
                    if slots.areRevoked { true } else { await LockedOut.known(of: account, in: vault) != nil }
                let mayOpen = if isShut { await isHeld(account.id) } else { true }
                let way =
                    mayOpen
                    ? "To end both: \(Proposed.command("logout --everywhere"))"
                    : "To end both, use the account pages of \(RemainingAccess.pages(of: account))"
                return "ending it could also end the stored account's login. \(way)"
            }
            return await vault.auth.revoke(token)?.text
        } catch {
            return (VaultError.converting(error) as? VaultError)?.text ?? "the store cannot be read."
        }
    }

    /// - Returns: the unlock method that opens the account now.
    func run() async throws -> UnlockMethod {
        if let alias { try await vault.storage.checkAlias(alias, of: token.account) }
        guard let existing = try await vault.storage.registeredAccount(token.account) else {
            return try await storeNew(mayLoseItems: mayLoseItems)
        }
        await Proposed.note(existing, in: vault)
        if case .terminal = source { return try await openAgain(existing) }
        guard newHardware == nil else {
            let name = Printable.text(existing.displayName)
            let user = await vault.storage.userOption(of: existing.id)
            throw VaultError(
                .accountExists,
                "\(name) is already registered here. To open it, run vault register at a terminal. To begin again: vault delete \(user)",
                accounts: [existing.id])
        }
        return try await keepOrReplace(existing, SharedSecret(source.password("", terminal)))
    }

    /// Opens the account with a given password. Otherwise makes it the new password, unless items would be lost.
    private func keepOrReplace(_ existing: Account, _ password: SharedSecret) async throws -> UnlockMethod {
        do {
            return try await open(existing, with: .password(password))
        } catch let error as VaultError where Self.meansAnotherMethod(error) {
            if error.meansLocked { await Proposed.noteLock() }
            if let method = try await openWithoutKeyService(existing, password, after: error) { return method }
            // The message begins with the reason why the account stays closed, because each login may cost a guess.
            let losses = try await losses(of: existing)
            guard losses.isEmpty || mayLoseItems else {
                throw error.saying(
                    "\(error.sentences) The account is registered here already. A new password deletes: \(losses). To allow that, add --yes. To keep them, run vault register at a terminal, and use another unlock method."
                )
            }
            if let failure = policy.failure(ofNewPassword: password.bytes, names: names) {
                throw failure.saying("\(error.sentences) As a new password: \(failure.text)")
            }
            return try await store(newPassword: password, mayLoseItems: mayLoseItems)
        }
    }

    /// Whether another unlock method may still open the account.
    static func meansAnotherMethod(_ error: VaultError) -> Bool {
        [.wrongSecret, .keyLocked, .keyMissing, .deviceRevoked, .notEnrolled, .storeCorrupt].contains(error.code)
    }

    /// The data that a new password deletes, for a person; empty for none.
    func losses(of existing: Account) async throws -> String {
        try await vault.storage.lossesByNewPassword(of: existing.id).map(Printable.text).joined(separator: ", ")
    }

    func newPassword() async throws -> SharedSecret {
        SharedSecret(try await source.newPassword(prompt, names: names, policy: policy, terminal))
    }

    /// Stores the tokens under the first unlock method of a new account.
    func storeNew(mayLoseItems: Bool) async throws -> UnlockMethod {
        guard let newHardware else { return try await store(newPassword: newPassword(), mayLoseItems: mayLoseItems) }
        let kind = Keyslot.Kind(rawValue: newHardware.kind)
        let given: SecretSource? = if case .terminal = source { nil } else { source }
        let prompt = TerminalPrompt(
            terminal: terminal, source: given, isNew: kind.takesNewPIN, policy: policy, names: names)
        try await allowingLoss {
            _ = try await vault.storage.storeRefreshToken(
                token, withNewHardware: newHardware, prompt: prompt, alias: alias, replacingItems: mayLoseItems)
        }
        return .hardware(newHardware, TerminalPrompt(terminal: terminal, source: given))
    }

    func store(newPassword: SharedSecret, mayLoseItems: Bool) async throws -> UnlockMethod {
        let openedOffline = try await vault.storage.registeredAccount(token.account)?.keyslot(.offline) != nil
        try await allowingLoss {
            _ = try await vault.storage.storeRefreshToken(
                token, withNewPassword: newPassword.bytes, alias: alias, replacingItems: mayLoseItems)
        }
        if openedOffline, try await vault.storage.registeredAccount(token.account)?.opensOffline == false {
            Output.note(
                "The account does not open without the network any more. To allow that again: \(Proposed.command("unlock add offline"))"
            )
        }
        return .password(newPassword)
    }

    /// Runs `store`. Its error names the option that allows the loss of items.
    private func allowingLoss(_ store: () async throws -> Void) async throws {
        do {
            try await store()
        } catch let error as VaultError where error.code == .accountExists {
            throw error.saying(
                "\(error.sentences) To allow that, add --yes. To keep them, run vault register at a terminal.")
        }
    }

    var policy: VaultPolicy { vault.storage.policy }

    private var names: [String] {
        [token.identity.email, token.identity.preferredUsername, token.identity.name, alias].compactMap(\.self)
    }
}
