internal import CredentialVault

// Questions to the key service before a person is asked for a secret, so that nobody types a secret that cannot help. If
// the secret comes from a file, the key service's answer to the secret says more. No question here costs a guess.
extension UnlockOptions {
    /// Refuses an unlock method that cannot open the account now.
    ///
    /// - Parameters:
    ///   - fallsBack: whether the password also opens the account without the network.
    ///   - isQuiet: whether to show no spinner.
    func requireUseful(
        _ kind: Keyslot.Kind, of account: Account, in vault: Vault, _ terminal: any Terminal, fallsBack: Bool = false,
        isQuiet: Bool
    ) async throws {
        guard !password.isGiven, terminal.isInteractive else { return }
        try await requireOpenable(account, by: kind, in: vault, isQuiet: isQuiet)
        guard !account.opens(offline: kind, fallsBack: fallsBack) else { return }
        try await requireKeyService(of: account, in: vault, isQuiet: isQuiet)
    }

    /// Refuses an unlock method whose keys the key service refuses for good.
    ///
    /// - Parameter kind: the kind of the unlock method; nil for any kind.
    func requireOpenable(_ account: Account, by kind: Keyslot.Kind? = nil, in vault: Vault, isQuiet: Bool) async throws
    {
        let accounts = try vault.accounts
        try await Spinner.during("Asking the key service", isQuiet: isQuiet) {
            try await accounts.requireOpenable(account, by: kind, within: Self.glance)
        }
    }

    /// Refuses unlock methods whose keys are all still locked.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of the unlock methods that the command can use.
    ///   - isReusable: whether a recovery code cannot open the account here.
    ///   - changesMethods: whether the person wants to change the unlock methods.
    /// - Throws: `VaultError` with code `keyLocked`. It names the command that helps now.
    func requireUnlocked(
        _ kinds: [Keyslot.Kind], of account: Account, in vault: Vault, _ terminal: any Terminal,
        isReusable: Bool = true, changesMethods: Bool = false, isQuiet: Bool
    ) async throws {
        guard !password.isGiven, terminal.isInteractive else { return }
        let accounts = try vault.accounts
        let answers = await Spinner.during("Asking the key service", isQuiet: isQuiet) {
            await accounts.recheckLocks(of: account, within: Self.glance)
        }
        let slots = account.keyslots.filter { kinds.contains($0.kind) }
        guard let first = slots.first, slots.allSatisfy({ answers[$0.id] == .locked }) else { return }
        let way = await otherWay(than: first.kind, of: account, in: vault, isReusable: isReusable, terminal)
        throw await LockedOut(account: account, vault: vault, locked: slots)
            .error(otherWay: way, changesMethods: changesMethods, isQuiet: isQuiet)
    }

    /// Refuses an account that cannot be opened now, before the person types anything else, such as a passphrase.
    func requireWay(into account: Account, in vault: Vault, _ terminal: any Terminal, isQuiet: Bool) async throws {
        guard !password.isGiven, terminal.isInteractive else { return }
        let tried = account.keyslots.map(\.kind).filter { MethodKind.of($0)?.requiresOption == false }
        let kinds = named.map { [$0] } ?? tried
        try await requireUnlocked(kinds, of: account, in: vault, terminal, isQuiet: isQuiet)
        try await requireOpenable(account, by: named, in: vault, isQuiet: isQuiet)
        guard !kinds.contains(where: { account.opens(offline: $0, fallsBack: false) }) else { return }
        try await requireKeyService(of: account, in: vault, isQuiet: isQuiet)
    }

    private func requireKeyService(of account: Account, in vault: Vault, isQuiet: Bool) async throws {
        let accounts = try vault.accounts
        try await Spinner.during("Asking the key service", isQuiet: isQuiet) {
            try await accounts.requireKeyService(of: account, within: Self.glance)
        }
    }
}
