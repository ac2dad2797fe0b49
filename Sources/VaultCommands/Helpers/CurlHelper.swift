internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// A configuration for curl (`-K`), so that the token is in no argument.
struct CurlHelper: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "curl",
        abstract: "Print a configuration for \"curl -K -\" with the access token in it.",
        discussion: """
            vault helper curl --user alice --url https://api.example.com/ | curl -K -

            curl sends the token to every address of its command line. Name one address only, here with --url. The \
            configuration allows https alone, also for redirects. Plain http works only with --url, on this machine.

            A token that is bound to a key (DPoP) needs a proof with each request. See "vault token --help".
            """)

    @Option(help: ArgumentHelp("Put this address into the configuration, too.", valueName: "url"))
    var url: String?

    @OptionGroup var account: HelperAccount

    var global: GlobalOptions { account.global }

    func validate() throws {
        if let url, HelperHost(url: url) == nil {
            throw ValidationError("--url takes an https URL (plain http only works on this machine).")
        }
    }

    func run() async throws {
        let token = try await account.token()
        let isPlain = url.flatMap { HelperHost(url: $0)?.isPlain } ?? false
        var lines = [
            "header = \(Self.quoted("Authorization: Bearer \(try token.text)"))",
            "proto = \(Self.quoted(isPlain ? "=http,https" : "=https"))",
            // A redirect keeps the token only on the same host, and must not take it out of https.
            "proto-redir = \(Self.quoted(isPlain ? "=http,https" : "=https"))",
        ]
        if let url { lines.append("url = \(Self.quoted(url))") }
        Output.raw(lines.joined(separator: "\n"))
    }

    /// A value as curl's configuration has it: in quotation marks.
    static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
