internal import ArgumentParser
internal import CredentialVault

/// What the desktop starts when the browser is sent to a redirect URI with a scheme of its own: see `SchemeHandler`.
///
/// The redirect is an argument, as the desktop gives it. Others on this machine may see it there: its code is worth
/// nothing without the PKCE verifier, which the waiting program keeps.
struct HandleRedirectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: SchemeHandler.command, abstract: "Hand a redirect to the sign-in that waits for it.",
        shouldDisplay: false)

    @Argument(help: "The socket of the waiting program.") var socket: String
    @Argument(help: "The redirect.") var url: String

    func run() async throws {
        do {
            try RedirectSocket.send(url, to: socket)
        } catch {
            SchemeHandler.removeAbandoned()
            throw error
        }
    }
}
