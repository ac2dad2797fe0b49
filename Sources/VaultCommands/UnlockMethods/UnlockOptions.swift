internal import ArgumentParser
internal import CredentialVault

/// How the account is opened.
struct UnlockOptions: ParsableArguments {
    @OptionGroup var password: PasswordOptions

    @Flag var namedMethod: NamedMethod?

    @Flag(help: "Spend the last guess. If the answer is lost, the password or PIN is locked.")
    var lastGuess = false

    @Option(
        name: .customLong("offline-max-age"),
        help: ArgumentHelp(
            "How many days after the last online use the account opens without the network. (default: the setting offline-max-age, or 14)",
            valueName: "days"),
        transform: Settings.Name.offlineMaxAge.duration)
    var offlineMaximumAge: Duration?

    @OptionGroup var hardware: HardwareOptions

    @OptionGroup var agent: AgentOption

    /// Whether an option names the unlock method.
    var isNamed: Bool { named != nil }

    /// Whether the recovery code opens the account, and is used up by that.
    var usesRecoveryCode: Bool { namedMethod?.kind == .recovery }

    func validate() throws {
        guard namedMethod == nil || hardware.kind == nil else {
            throw ValidationError("Only one unlock method can be named.")
        }
    }

    /// The unlock method that is named.
    private var named: Keyslot.Kind? { namedMethod?.kind ?? hardware.kind }

    /// Opens the vault with the limit for opening without the network.
    func openVault(_ global: GlobalOptions) async throws -> Vault {
        let vault = try await global.openVault {
            $0.issuer = global.issuer
            if let offlineMaximumAge { $0.offlineMaximumAge = offlineMaximumAge }
        }
        // Checked before the person types a secret that opens nothing.
        if let named { try vault.accounts.requireAllowed(named) }
        return vault
    }

    /// Returns the named unlock method, or else the password. Reads its secret, or asks for it.
    ///
    /// - Parameter password: how to ask for the password.
    func method(
        for account: Account, _ terminal: any Terminal, password prompt: String = "Password"
    ) async throws -> UnlockMethod {
        let kind = named ?? .password
        guard let name = MethodKind.of(kind)?.secretName else {
            let provider = try await Hardware(Settings()).provider(kind, at: hardware.address)
            return guarded(
                .hardware(
                    provider, TerminalPrompt(terminal: terminal, source: password.isGiven ? password.source : nil)))
        }
        if kind == .password && account.passwordKeyslot == nil && account.damagedKeyslots.isEmpty {
            throw account.withoutPassword
        }
        let question = "\(kind == .password ? prompt : name) of \(Printable.text(account.displayName)): "
        return guarded(.typing(SharedSecret(try await password.source.password(question, terminal)), as: kind))
    }

    /// The unlock method, which spends the last guess only if an option says so.
    func guarded(_ method: UnlockMethod) -> UnlockMethod { lastGuess ? method.spendingLastGuess : method }

    /// Like ``method(for:_:)``, for a command that cannot replace a used recovery code.
    func reusableMethod(
        for account: Account, _ terminal: any Terminal, password prompt: String = "Password"
    ) async throws -> UnlockMethod {
        guard !usesRecoveryCode else {
            throw VaultError(
                .configurationInvalid,
                "This command cannot show a new recovery code. Use the recovery code with: vault passwd --recovery-code, or vault login --recovery-code"
            )
        }
        return try await method(for: account, terminal, password: prompt)
    }
}
