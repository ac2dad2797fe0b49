internal import ArgumentParser
internal import CredentialVault

/// How the account is opened: by the way that is named, or else by the most convenient one that is there.
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

    func validate() throws {
        guard [usesPassword, pin, recoveryCode, offline, hardware.kind != nil].count(where: { $0 }) <= 1 else {
            throw ValidationError("Only one way to open the account can be named.")
        }
    }

    /// Opens the vault with the limit for opening without the network.
    func openVault(_ global: GlobalOptions) async throws -> Vault {
        try await global.openVault {
            $0.issuer = global.issuer
            if let offlineMaximumAge { $0.offlineMaximumAge = offlineMaximumAge }
        }
    }

    /// The way in, with its secret read or asked for.
    ///
    /// - Parameter password: how to ask for the password, where that is meant unless another way is named.
    func method(
        for account: Account, _ terminal: any Terminal = ControllingTerminal(), password prompt: String? = nil
    ) async throws -> UnlockMethod {
        let name = Printable.text(account.displayName)
        if pin { return .pin(try await ask("PIN of \(name): ", terminal)) }
        if recoveryCode { return .recoveryCode(try await ask("Recovery code of \(name): ", terminal)) }
        if offline { return .offline(try await ask("Password of \(name): ", terminal)) }
        if let kind = hardware.kind {
            return try .hardware(Hardware.provider(kind, hardware.detail), hardwarePrompt(terminal))
        }
        if let prompt { return .password(try await ask("\(prompt) of \(name): ", terminal)) }
        return try await mostConvenient(account, name, terminal)
    }

    /// As ``method(for:_:)``, where a used recovery code could not be replaced.
    func reusableMethod(
        for account: Account, _ terminal: any Terminal = ControllingTerminal(), password prompt: String? = nil
    ) async throws -> UnlockMethod {
        guard !recoveryCode else {
            throw VaultError(
                .configurationInvalid,
                "A recovery code works once. Use it with: vault passwd --recovery-code, or vault login --recovery-code")
        }
        return try await method(for: account, terminal, password: prompt)
    }

    /// Hardware that is there, then the PIN, then the password. A secret that is given is the password.
    private func mostConvenient(
        _ account: Account, _ name: String, _ terminal: any Terminal
    ) async throws -> UnlockMethod {
        if !password.isGiven && !usesPassword && terminal.isInteractive {
            if let present = await Hardware.present(for: account) {
                return .hardware(present, hardwarePrompt(terminal))
            }
            if account.keyslot(.pin) != nil {
                return .pin(try await ask("PIN of \(name): ", terminal))
            }
        }
        return .password(try await ask("Password of \(name): ", terminal))
    }

    private func ask(_ prompt: String, _ terminal: any Terminal) async throws -> SharedSecret {
        SharedSecret(try await password.source.password(prompt, terminal))
    }

    private func hardwarePrompt(_ terminal: any Terminal) -> TerminalPrompt {
        TerminalPrompt(terminal: terminal, source: password.isGiven ? password.source : nil)
    }
}
