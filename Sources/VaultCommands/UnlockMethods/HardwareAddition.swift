internal import CredentialVault

extension MethodKind.Addition {
    /// Adds a hardware key.
    ///
    /// - Parameter options: further options, besides those of every hardware key.
    static func hardware(_ options: Set<Option> = []) -> MethodKind.Addition {
        MethodKind.Addition(options: options.union([.newPINFile, .label, .opensOffline]), prepare: prepare, add: add)
    }

    @Sendable private static func prepare(_ request: MethodKind.AddRequest) async throws {
        let (options, terminal) = (request.options, request.terminal)
        if options.opensOffline { try request.vault.storage.policy.requireAllowed(.offline) }
        if options.opensOffline || !request.account.hasKeyService {
            try await requireFirmLimit(of: provider(request))
        } else {
            try await checkGuessLimit(of: provider(request), options, terminal)
        }
        if options.opensOffline && request.account.hasKeyService && !options.yes {
            try await OfflineConsent.ask(
                terminal, mayAsk: !options.unlock.password.isGiven, for: request.method.kind)
        }
    }

    @Sendable private static func add(
        _ request: MethodKind.AddRequest, _ opened: MethodKind.OpenedForAdding
    ) async throws -> MethodKind.Added {
        let (options, kind) = (request.options, request.method.kind)
        let prompt = TerminalPrompt(
            terminal: request.terminal, source: options.newPINFile.map(SecretSource.file), isNew: kind.takesNewPIN,
            policy: request.vault.storage.policy, names: request.account.names)
        // Before the person typed the password, `prepare` has asked about hardware that limits no guesses.
        let slot = try await opened.accounts.addHardware(
            provider(request), prompt: prompt, to: request.account, vaultKey: opened.vaultKey,
            opensOffline: options.opensOffline, label: options.label, allowsUnlimitedGuesses: true)
        return MethodKind.Added(
            text: "Added \(Printable.text(slot.label ?? kind.rawValue)). It now opens \(request.name).",
            hint: await usualAddress(of: slot, request))
    }

    private static func provider(_ request: MethodKind.AddRequest) throws -> any BiometricProvider {
        try request.hardware.provider(
            request.method.kind, at: request.options.which, mayMakeKey: request.options.makeKey)
    }

    /// Warns if a thief who has the hardware may be able to reset its count of wrong PINs. Asks first if the hardware
    /// does not limit wrong PINs at all.
    private static func checkGuessLimit(
        of provider: any BiometricProvider, _ options: UnlockCommand.Add, _ terminal: any Terminal
    ) async throws {
        switch try await provider.guessLimit() {
        case .firm: break
        case .weak(let reason):
            let hint = Hints.lockoutPassword(of: provider.kind).map { " " + $0 } ?? ""
            Output.note("vault: \(Printable.text(reason))\(hint)")
        case .absent(let reason):
            let hint = Hints.guessLimit(of: provider.kind).map { " " + $0 } ?? ""
            let cost = "vault: \(Printable.text(reason))\(hint)"
            if options.yes {
                Output.note(cost)
            } else {
                try await Consent.ask(
                    terminal, mayAsk: !options.unlock.password.isGiven, cost: cost, "Add it anyway?")
            }
        }
    }

    /// Refuses hardware that cannot open an account without the key service, because a thief can reset its count of wrong
    /// PINs, or try all PINs.
    static func requireFirmLimit(of provider: any BiometricProvider) async throws {
        switch try await provider.guessLimit() {
        case .firm: break
        case .weak(let reason): throw notWithoutKeyService(reason, Hints.lockoutPassword(of: provider.kind))
        case .absent(let reason): throw notWithoutKeyService(reason, Hints.guessLimit(of: provider.kind))
        }
    }

    private static func notWithoutKeyService(_ reason: String, _ hint: String?) -> VaultError {
        VaultError(
            .configurationInvalid,
            "\(reason) It cannot open the account without the key service." + (hint.map { " " + $0 } ?? ""))
    }

    /// Says which option or setting finds the hardware, if it is not at its usual address.
    private static func usualAddress(of slot: Keyslot, _ request: MethodKind.AddRequest) async -> String? {
        guard let which = request.options.which,
            await request.hardware.availability(of: [slot], within: Hardware.glance)[slot.id] != .available
        else { return nil }
        let (kind, address) = (request.method.kind.rawValue, ShellQuoting.quoted(which))
        return "To log in with it, add --\(kind) \(address), or save the address:\nvault config set \(kind) \(address)"
    }
}
