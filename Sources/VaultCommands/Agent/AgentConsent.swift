internal import CredentialVault
internal import Foundation
internal import VaultAgent

/// Asks in a window before a process uses a session for the first time: `vault agent start --confirm`.
enum AgentConsent {
    /// - Throws: ``VaultError`` with code `configurationInvalid` if there is no display or no pinentry.
    static func make() async throws -> ProgramConsent {
        guard try await Pinentry.configured() != nil else {
            throw VaultError(
                .configurationInvalid,
                "--confirm needs a display and the program pinentry. Install pinentry, or name it: vault config set pinentry PATH"
            )
        }
        return ProgramConsent(own: try own()) { program, account in
            let question = "May \(Printable.text(program)) use the session of \(Printable.text(account))?"
            guard let pinentry = try? await Pinentry.configured() else { return false }
            return (try? await pinentry.confirm(title: "Credential Vault", description: question)) ?? false
        }
    }

    /// The paths of the two programs `vault` and `vault-command`.
    private static func own() throws -> Set<String> {
        let program = try ProgramPath.own
        let folder = (program as NSString).deletingLastPathComponent
        return [program, folder + "/vault"]
    }
}
