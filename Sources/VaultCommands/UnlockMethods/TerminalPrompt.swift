internal import CredentialVault

/// Gets the PIN of hardware, from the terminal or from a file.
struct TerminalPrompt: BiometricPrompt {
    let terminal: any Terminal
    /// The source of the PIN if nothing may be asked.
    let source: SecretSource?
    /// Whether the person chooses a new PIN for the hardware.
    var isNew = false
    /// The rules for a new PIN.
    var policy = VaultPolicy.standard
    /// The person's names, which a new PIN must not be made of.
    var names: [String] = []
    /// More words of the question.
    var ending = ""
    /// Whether another unlock method is tried when the person types nothing.
    var canBeSkipped = false

    func pin(_ request: PINRequest) async throws -> SecretBytes {
        let label = Printable.text(request.label)
        if let source {
            // A wrong PIN in a file would lock the hardware while nobody is there.
            guard !request.isFinal else {
                throw VaultError(
                    .wrongSecret, "Another wrong PIN would lock \(label). Enter the right one at a terminal.")
            }
            return try judged(try await source.password("", terminal))
        }
        Spinner.stopAll()
        if request.isFinal {
            terminal.tell("This is the last guess. Another wrong PIN locks \(label).")
        } else if request.isLow {
            // A PKCS#11 token does not tell the number.
            terminal.tell(
                request.guessesLeft.map { $0 == 1 ? "1 guess is left." : "\($0) guesses are left." }
                    ?? "A wrong PIN was entered before. Few guesses are left.")
        }
        guard isNew else {
            let pin = try await terminal.askSecret("PIN of \(label)\(ending): ")
            if canBeSkipped && pin.count == 0 { throw SkippedMethod() }
            return pin
        }
        return try await terminal.newPIN("New PIN for \(label)", names: names, policy: policy)
    }

    func act(_ instruction: String) async {
        Spinner.stopAll()
        Output.note(Printable.text(instruction))
    }

    /// A new PIN that is good enough.
    private func judged(_ pin: consuming SecretBytes) throws -> SecretBytes {
        if isNew, let failure = policy.failure(ofNewPIN: pin, names: names) { throw failure }
        return pin
    }
}

extension Terminal {
    /// A new PIN that is good enough. A person types it twice, and again if it is not.
    func newPIN(_ prompt: String, names: [String], policy: VaultPolicy) async throws -> SecretBytes {
        // At a terminal without end, so that a sign-in is not lost. A window may be a program.
        var attempts = 0
        while attempts < 5 || !mayAnswerByItself {
            attempts += 1
            let pin = try await askSecret("\(prompt) (at least \(policy.pinLength) characters): ")
            if let failure = policy.failure(ofNewPIN: pin, names: names) {
                tell(failure.text)
                continue
            }
            if try await askSecret("The same again: ").isEqual(to: pin) { return pin }
            tell("The two are not the same. Once more.")
        }
        throw VaultError(.passwordUnusable, "No PIN was chosen.")
    }
}
