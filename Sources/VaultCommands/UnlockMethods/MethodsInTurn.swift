internal import CredentialVault

/// The unlock methods that a command asks for, one after the other until one opens the account.
struct MethodsInTurn {
    private let options: UnlockOptions
    private let account: Account
    private let vault: Vault
    private let terminal: any Terminal
    private let isReusable: Bool
    private let fallsBack: Bool
    private let isQuiet: Bool
    private let changesMethods: Bool
    private var kinds: ArraySlice<Keyslot.Kind> = []

    fileprivate init(
        _ options: UnlockOptions, _ account: Account, _ vault: Vault, _ terminal: any Terminal, isReusable: Bool,
        changesMethods: Bool, fallsBack: Bool, _ global: GlobalOptions
    ) async throws {
        (self.options, self.account, self.vault, self.terminal) = (options, account, vault, terminal)
        (self.isReusable, self.fallsBack, isQuiet) = (isReusable, fallsBack, global.json)
        self.changesMethods = changesMethods
        let hardware = Hardware(try await Settings(global))
        guard !options.isNamed, !options.password.isGiven, terminal.isInteractive else {
            var kind: Keyslot.Kind?
            if !options.isNamed, !options.password.isGiven, !changesMethods {
                kind = await UnlockOrder.unasked(of: account, vault.storage.policy, hardware)
            }
            kinds = [try kind ?? options.kind(for: account, isReusable: isReusable)]
            if kind == nil {
                try await options.requireUnlocked(
                    Array(kinds), of: account, in: vault, terminal, isReusable: isReusable,
                    changesMethods: changesMethods, isQuiet: isQuiet)
                try await requireFirstUseful()
            }
            return
        }
        let accounts = try vault.accounts
        let answers = await Spinner.during("Asking the key service", isQuiet: isQuiet) {
            await accounts.recheckLocks(of: account, within: UnlockOptions.glance)
        }
        // The answers may say that this machine was revoked.
        try await options.requireOpenable(account, in: vault, isQuiet: isQuiet)
        let locked = account.keyslots.filter { answers[$0.id] == .locked }
        kinds = try await UnlockOrder.kinds(
            of: account, vault.storage, hardware, terminal, stillLocked: locked.map(\.kind),
            changesMethods: changesMethods, isQuiet: isQuiet)[...]
        guard !kinds.isEmpty else {
            throw await LockedOut(account: account, vault: vault, locked: locked)
                .error(changesMethods: changesMethods, isQuiet: isQuiet)
        }
        try await dropUseless()
    }

    /// Opens the account. If a method cannot be used now, or the person types nothing, tells the person why the method
    /// is passed over and asks for the next one.
    ///
    /// - Parameters:
    ///   - prompt: how to ask for the password.
    ///   - purpose: what the account is opened for, and what happens if the person uses no method; nil if the command
    ///     needs the account open.
    ///   - open: what needs the method.
    /// - Throws: ``SkippedMethod`` if the person uses no method, and there is a purpose.
    func opening<R>(
        password prompt: String = "Password", purpose: (text: String, otherwise: String)? = nil,
        _ open: (UnlockMethod) async throws -> R
    ) async throws -> R {
        var rest = self
        while let kind = rest.kinds.popFirst() {
            let ending = purpose.map { purpose in
                ", \(purpose.text) (empty: \(rest.kinds.isEmpty ? purpose.otherwise : "another unlock method"))"
            }
            do {
                return try await options.asking(
                    for: kind, of: account, in: vault, terminal, password: prompt,
                    ending: ending ?? "", isReusable: isReusable,
                    canBeSkipped: purpose != nil || !rest.kinds.isEmpty, open)
            } catch {
                try await rest.passOver(kind, error)
                try await rest.dropUseless()
            }
        }
        throw account.withoutPassword
    }

    private func requireFirstUseful() async throws {
        guard let kind = kinds.first else { return }
        try await options.requireUseful(
            kind, of: account, in: vault, terminal, fallsBack: fallsBack, isQuiet: isQuiet)
    }

    /// Drops the next methods while they cannot open the account now.
    private mutating func dropUseless() async throws {
        while let kind = kinds.first {
            do {
                return try await requireFirstUseful()
            } catch {
                kinds.removeFirst()
                try await passOver(kind, error)
            }
        }
    }

    /// Tells the person why a method is passed over.
    ///
    /// - Throws: the error if it is not about the method, or if there is no other method.
    private mutating func passOver(_ kind: Keyslot.Kind, _ error: any Error) async throws {
        if (error as? VaultError)?.code == .keyServiceUnavailable {
            kinds = kinds.filter { account.opens(offline: $0, fallsBack: fallsBack) }
        }
        // Only an unlock method that works can add a new one. `vault unlock add` must not propose itself.
        let slots = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
        let isAdvised = !changesMethods && slots.contains { $0.state == .usable && kinds.contains($0.kind) }
        guard let next = kinds.first,
            let reason = UnlockOrder.uselessness(of: kind, error, isAdvised: isAdvised)
        else { throw error }
        UnlockOrder.tell(terminal, reason, next: next)
    }
}

extension UnlockOptions {
    /// The unlock methods to ask for: the named one, or else those of ``UnlockOrder``. A given secret is the password:
    /// nothing else is tried. If nobody can be asked, only the desktop keyring is tried. The first method can open the
    /// account now, as far as the key service says.
    ///
    /// - Parameters:
    ///   - isReusable: refuses a recovery code, for commands that cannot show the new code.
    ///   - changesMethods: whether the command changes the unlock methods. Then the password comes first, and nothing
    ///     opens the account without a secret.
    ///   - fallsBack: whether the password also opens the account without the network.
    func methods(
        for account: Account, in vault: Vault, _ terminal: any Terminal, isReusable: Bool = true,
        changesMethods: Bool = false, fallsBack: Bool = false, _ global: GlobalOptions
    ) async throws -> MethodsInTurn {
        try await MethodsInTurn(
            self, account, vault, terminal, isReusable: isReusable, changesMethods: changesMethods,
            fallsBack: fallsBack, global)
    }
}
