internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// A configuration for curl (`-K`), which keeps the token out of the arguments.
struct CurlHelper: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "curl",
        abstract: "Print a configuration for \"curl -K -\" with the access token in it.",
        discussion: """
              vault helper curl --user alice --url https://api.example.com/ | curl -K -

            curl sends the token to every address on its command line. Name only one address, with --url. The \
            configuration allows only https, also for redirects. Plain http works only with --url, on this machine.

            If a token is bound to a key (DPoP), each request needs a proof. See "vault token --help".
            """)

    @Option(help: ArgumentHelp("Also put this address into the configuration.", valueName: "url"))
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
            // curl keeps the token in a redirect to the same host. Such a redirect must stay in https.
            "proto-redir = \(Self.quoted(isPlain ? "=http,https" : "=https"))",
        ]
        if let url { lines.append("url = \(Self.quoted(url))") }
        Output.raw(lines.joined(separator: "\n"))
    }

    /// A value for curl's configuration, in quotation marks.
    static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
