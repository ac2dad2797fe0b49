internal import ArgumentParser
internal import CredentialVault

/// How the account is opened.
struct UnlockOptions: ParsableArguments {
    @OptionGroup var password: PasswordOptions

    @Flag(name: .customLong("password"), help: "Open the account with the password, whatever else there is.")
    var usesPassword = false

    @Flag(help: "Open the account with the PIN. --password-file then has the PIN.")
    var pin = false

    @Flag(
        name: .customLong("recovery-code"),
        help: "Open the account with the recovery code, which is replaced by a new one.")
    var recoveryCode = false

    @Flag(help: "Open the account without the network, with the password, where that was allowed.")
    var offline = false

    @Option(
        name: .customLong("offline-max-age"),
        help: ArgumentHelp(
            "For how many days after it was online last the account opens without the network. Otherwise that of the settings, or 14.",
            valueName: "days"),
        transform: Settings.Name.days)
    var offlineMaximumAge: Duration?

    @OptionGroup var hardware: HardwareOptions

    /// Whether it is said which way in is to be used.
    var isNamed: Bool { ways.contains(true) }

    private var ways: [Bool] { [usesPassword, pin, recoveryCode, offline, hardware.kind != nil] }

    func validate() throws {
        guard ways.count(where: { $0 }) <= 1 else {
            throw ValidationError("Only one way to open the account can be named.")
        }
    }

    /// The way in that is named.
    private var named: Keyslot.Kind? {
        if usesPassword { return .password }
        if pin { return .pin }
        if recoveryCode { return .recovery }
        if offline { return .offline }
        return hardware.kind.map { Keyslot.Kind(rawValue: $0) }
    }

    /// Opens the vault with the limit for opening without the network.
    func openVault(_ global: GlobalOptions) async throws -> Vault {
        let vault = try await global.openVault {
            $0.issuer = global.issuer
            if let offlineMaximumAge { $0.offlineMaximumAge = offlineMaximumAge }
        }
        // Nobody should have to type a secret that opens nothing.
        if let named { try vault.accounts.requireAllowed(named) }
        return vault
    }

    /// The way in that is named, or else the password, with its secret read or asked for.
    ///
    /// - Parameter password: how to ask for the password.
    func method(
        for account: Account, _ terminal: any Terminal = ControllingTerminal(), password prompt: String = "Password"
    ) async throws -> UnlockMethod {
        let name = Printable.text(account.displayName)
        if pin { return .pin(try await ask("PIN of \(name): ", terminal)) }
        if recoveryCode { return .recoveryCode(try await ask("Recovery code of \(name): ", terminal)) }
        if offline { return .offline(try await ask("Password of \(name): ", terminal)) }
        if let kind = hardware.kind {
            let provider = try await Hardware(Settings()).provider(kind, at: hardware.address)
            return .hardware(
                provider, TerminalPrompt(terminal: terminal, source: password.isGiven ? password.source : nil))
        }
        guard account.passwordKeyslot != nil || !account.damagedKeyslots.isEmpty else { throw account.withoutPassword }
        return .password(try await ask("\(prompt) of \(name): ", terminal))
    }

    /// As ``method(for:_:)``, where a used recovery code could not be replaced.
    func reusableMethod(
        for account: Account, _ terminal: any Terminal = ControllingTerminal(), password prompt: String = "Password"
    ) async throws -> UnlockMethod {
        guard !recoveryCode else {
            throw VaultError(
                .configurationInvalid,
                "A recovery code works once, and the new one would not be shown here. Use it with: vault passwd --recovery-code, or vault login --recovery-code"
            )
        }
        return try await method(for: account, terminal, password: prompt)
    }

    private func ask(_ prompt: String, _ terminal: any Terminal) async throws -> SharedSecret {
        SharedSecret(try await password.source.password(prompt, terminal))
    }
}
