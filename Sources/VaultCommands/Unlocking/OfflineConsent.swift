internal import CredentialVault

/// Opening without the network costs safety: a person is told, and asked.
enum OfflineConsent {
    /// - Throws: `VaultError` with code `cancelled` when it is not wanted.
    static func ask(_ terminal: any Terminal) async throws {
        Output.note(
            "Whoever gets this machine's disk can then try passwords for as long as they like. Only a long password stands against that."
        )
        guard terminal.isInteractive else {
            throw VaultError(.configurationInvalid, "There is no terminal to ask. Use --yes to add it all the same.")
        }
        guard try await terminal.confirm("Add the way without the network?") else {
            throw VaultError(.cancelled, "Nothing was added.")
        }
    }
}
