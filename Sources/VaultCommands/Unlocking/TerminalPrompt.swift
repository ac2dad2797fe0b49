internal import CredentialVault

/// Asks for the PIN of hardware, at the terminal or out of what was given.
struct TerminalPrompt: BiometricPrompt {
    let terminal: any Terminal
    /// Where the PIN comes from when nothing may be asked.
    let source: SecretSource?

    func pin(_ request: PINRequest) async throws -> SecretBytes {
        // One that was given is tried once: the same PIN again would only lock the hardware.
        if let source, !request.isLow || request.triesLeft == nil {
            return try await source.password("", terminal)
        }
        guard source == nil else {
            throw VaultError(.wrongSecret, "A wrong PIN was entered before. Enter the right one at a terminal first.")
        }
        Spinner.stopAll()
        if request.isFinal {
            Output.note("This is the last try: another wrong PIN locks \(Printable.text(request.label)).")
        } else if let left = request.triesLeft, request.isLow {
            Output.note("\(left) tries are left.")
        }
        return try await terminal.askSecret("PIN of \(Printable.text(request.label)): ")
    }

    func act(_ instruction: String) async {
        Spinner.stopAll()
        Output.note(Printable.text(instruction))
    }
}
