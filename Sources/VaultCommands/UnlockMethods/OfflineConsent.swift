internal import CredentialVault

/// A question before something that costs safety.
enum Consent {
    /// - Parameter mayAsk: false if an option gives the password. Then nothing is asked.
    /// - Throws: `VaultError` with code `cancelled` after a no, `configurationInvalid` if nobody can be asked.
    static func ask(_ terminal: any Terminal, mayAsk: Bool, cost: String, _ question: String) async throws {
        terminal.tell(cost)
        guard mayAsk && terminal.isInteractive else {
            throw VaultError(.configurationInvalid, "There is nobody to ask. To add it without asking, use --yes.")
        }
        guard try await terminal.confirm(question) else { throw VaultError(.cancelled, "Nothing was added.") }
    }
}

/// A question before an account may open without the key service, which costs safety.
enum OfflineConsent {
    /// - Parameter hardware: the hardware that opens the account; nil for the password.
    /// - Throws: `VaultError` with code `cancelled` if the person says no.
    static func ask(
        _ terminal: any Terminal, mayAsk: Bool = true, for hardware: Keyslot.Kind? = nil
    ) async throws {
        try await Consent.ask(
            terminal, mayAsk: mayAsk, cost: cost(of: hardware), "Add this offline unlock method?")
    }

    private static func cost(of hardware: Keyslot.Kind?) -> String {
        guard let hardware else {
            return
                "A thief who has this machine's disk can then try passwords without limit. Only a long password prevents that."
        }
        let thief = hardware == .tpm2 ? "this machine" : "this machine's disk and the \(hardware.displayName)"
        return
            "A thief who has \(thief) can then try PINs until the \(hardware.displayName) stops that. The key service cannot notice or end it."
    }
}
