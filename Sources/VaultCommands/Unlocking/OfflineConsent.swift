internal import CredentialVault

/// Opening without the key service costs safety: a person is told, and asked.
enum OfflineConsent {
    /// - Parameter hardware: what is to open the account; nil for the password alone.
    /// - Throws: `VaultError` with code `cancelled` when it is not wanted.
    static func ask(_ terminal: any Terminal, for hardware: Keyslot.Kind? = nil) async throws {
        Output.note(cost(of: hardware))
        guard terminal.isInteractive else {
            throw VaultError(.configurationInvalid, "There is no terminal to ask. Use --yes to add it all the same.")
        }
        guard try await terminal.confirm("Add the way without the network?") else {
            throw VaultError(.cancelled, "Nothing was added.")
        }
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
