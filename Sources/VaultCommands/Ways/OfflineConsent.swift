internal import CredentialVault

/// What costs safety: a person is told, and asked.
enum Consent {
    /// - Parameter mayAsk: false where the password was given, so that nothing is asked.
    /// - Throws: `VaultError` with code `cancelled` when it is not wanted, `configurationInvalid` when nobody can be asked.
    static func ask(_ terminal: any Terminal, mayAsk: Bool, cost: String, _ question: String) async throws {
        terminal.tell(cost)
        guard mayAsk && terminal.isInteractive else {
            throw VaultError(.configurationInvalid, "There is nobody to ask. Use --yes to add it all the same.")
        }
        guard try await terminal.confirm(question) else { throw VaultError(.cancelled, "Nothing was added.") }
    }
}

/// Opening without the key service costs safety.
enum OfflineConsent {
    /// - Parameter hardware: what is to open the account; nil for the password alone.
    /// - Throws: `VaultError` with code `cancelled` when it is not wanted.
    static func ask(
        _ terminal: any Terminal, mayAsk: Bool = true, for hardware: Keyslot.Kind? = nil
    ) async throws {
        try await Consent.ask(terminal, mayAsk: mayAsk, cost: cost(of: hardware), "Add the way without the network?")
    }

    private static func cost(of hardware: Keyslot.Kind?) -> String {
        guard let hardware else {
            return
                "Whoever gets this machine's disk can then try passwords for as long as they like. Only a long password stands against that."
        }
        let thief = hardware == .tpm2 ? "this machine" : "this machine's disk and the \(hardware.displayName)"
        return
            "Whoever gets \(thief) can then try PINs for as long as the \(hardware.displayName) lets them, and the key service can neither notice nor end that."
    }
}
