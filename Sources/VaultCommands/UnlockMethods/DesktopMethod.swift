internal import CredentialVault
internal import VaultSecretService

// The unlock method that the login to the desktop opens.
extension MethodKind {
    static let desktop = MethodKind(
        kind: .desktop, option: "desktop", help: "Open the account with the desktop keyring, without a question.",
        hardware: HardwareKind(
            provider: { DesktopProvider(SecretService(timeLimit: $0.limit ?? .seconds(10))) }),
        addition: Addition(prepare: prepareDesktop, add: addDesktop))

    /// Checks that there is a keyring, and asks, before the person types the password.
    @Sendable private static func prepareDesktop(_ request: AddRequest) async throws {
        let provider = try request.hardware.provider(.desktop)
        switch await provider.availability(of: nil) {
        case .missing:
            throw VaultError(
                .hardwareMissing,
                "There is no desktop keyring here. Log in to a desktop with GNOME Keyring or KWallet, and try again there.",
                unlockMethod: .desktop)
        case .unusable(let reason): throw VaultError(.configurationInvalid, reason, unlockMethod: .desktop)
        default: break
        }
        guard case .absent(let cost) = try await provider.guessLimit() else { return }
        if request.options.yes { return Output.note("vault: \(cost)") }
        try await Consent.ask(
            request.terminal, mayAsk: !request.options.unlock.password.isGiven, cost: cost,
            "Let it open \(request.name)?")
    }

    @Sendable private static func addDesktop(_ request: AddRequest, _ opened: OpenedForAdding) async throws -> Added {
        let prompt = TerminalPrompt(terminal: request.terminal, source: nil)
        _ = try await opened.accounts.addHardware(
            request.hardware.provider(.desktop), prompt: prompt, to: request.account, vaultKey: opened.vaultKey,
            allowsUnlimitedGuesses: true)
        return Added(
            text: "The desktop keyring now opens \(request.name) without a question: \(Proposed.command("login"))")
    }
}

extension UnlockOptions {
    /// Refuses an option that opens the account without a secret of the person, for what changes the unlock methods.
    /// Somebody at an unlocked screen could otherwise make an unlock method of their own.
    ///
    /// - Throws: `VaultError` with code `secretRequired`.
    func requireSecret() throws {
        guard let named, named.asksNothing else { return }
        throw VaultError(
            .secretRequired,
            "The \(named.displayName) does not ask who you are, so you cannot change unlock methods with it. Leave out \(named.option).",
            unlockMethod: named)
    }
}
