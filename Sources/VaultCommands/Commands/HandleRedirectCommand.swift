internal import ArgumentParser

/// The command that the desktop starts when a redirect URI has a scheme such as `myapp:`. See `SchemeHandler`.
///
/// The desktop passes the redirect as an argument, so other users of the machine may see it. Its code has no use
/// without the PKCE verifier, which only the waiting program has.
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
