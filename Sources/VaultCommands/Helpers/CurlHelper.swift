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

            If a token is bound to a key (DPoP), name the address with --url, because the configuration then has a \
            proof for that address. The proof is for one request within about a minute. If the method is not GET, \
            name it:

              vault helper curl --user alice --url https://api.example.com/ --request POST | curl -K - -d @data
            """)

    @Option(help: ArgumentHelp("Also put this address into the configuration.", valueName: "url"))
    var url: String?

    @Option(
        name: .customLong("request"),
        help: ArgumentHelp("The method of the request. (default: GET)", valueName: "method"))
    var method: String?

    @OptionGroup var account: HelperAccount

    var global: GlobalOptions { account.global }

    func validate() throws {
        if let url, HelperHost(url: url) == nil {
            throw ValidationError("--url takes an https URL (plain http only works on this machine).")
        }
        guard method.map(ProvenRequest.isMethod) ?? true else {
            throw ValidationError("--request takes the method of a request: GET, POST, …")
        }
    }

    func run() async throws {
        let request = url.map { ProvenRequest(method: method?.uppercased() ?? "GET", url: $0) }
        var lines = try await account.fields(of: request).map { "header = \(Self.quoted($0))" }
        let isPlain = url.flatMap { HelperHost(url: $0)?.isPlain } ?? false
        lines += [
            "proto = \(Self.quoted(isPlain ? "=http,https" : "=https"))",
            // curl keeps the token in a redirect to the same host. Such a redirect must stay in https.
            "proto-redir = \(Self.quoted(isPlain ? "=http,https" : "=https"))",
        ]
        if let url { lines.append("url = \(Self.quoted(url))") }
        // With request = "HEAD", curl would wait for a body.
        if let method = method?.uppercased() {
            lines.append(method == "HEAD" ? "head" : "request = \(Self.quoted(method))")
        }
        Output.raw(lines.joined(separator: "\n"))
    }

    /// A value for curl's configuration, in quotation marks.
    static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
