internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct TokenCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a valid access token, and nothing else.",
        discussion: """
              printf 'Authorization: Bearer %s' "$(vault token --user alice)" |
                curl -H @- https://api.example.com/

            If the stored token is still valid, vault prints it without asking the identity provider.

            If a token is bound to a key (DPoP, RFC 9449), each request needs a proof. A proof is valid for about a \
            minute. --proof prints the header fields for one request, with any token:

              vault token --user alice --proof 'GET https://api.example.com/' |
                curl -H @- https://api.example.com/
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("min-valid"),
        help: ArgumentHelp("Renew the token if it is valid for less than this time.", valueName: "seconds"))
    var minimumValidity = 60

    @Flag(help: "Renew the token even if the stored one is still valid, or if the server refused the last renewal.")
    var refresh = false

    @Option(
        help: ArgumentHelp(
            "Print the header fields for one request to this URL. For a bound token, they have a proof.",
            valueName: "method url"),
        transform: ProvenRequest.init)
    var proof: ProvenRequest?

    // A nonce may begin with a hyphen.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("With --proof: the nonce that the server demanded (DPoP-Nonce).", valueName: "text"))
    var nonce: String?

    func validate() throws {
        if nonce != nil && proof == nil { throw ValidationError("--nonce needs --proof.") }
        guard (0...86_400).contains(minimumValidity) else {
            throw ValidationError("--min-valid takes 0 to 86400 seconds.")
        }
    }

    func run() async throws {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault, countsOpen: Output.isTerminal)
        // With --refresh, the provider is asked once more. It may have refused by mistake.
        let session = try await unlock.session(
            of: account, in: vault, isReusable: true, needsToken: !refresh, asksAgain: refresh, global)
        let (token, fields) = try await Spinner.during("Getting a token", isQuiet: global.json) {
            let token = try await session.retryingAccessToken(
                forceRefresh: refresh, minimumValidity: .seconds(minimumValidity))
            return (token, try await proof?.fields(of: token, nonce: nonce, vault.auth))
        }
        if global.json {
            Output.json(
                Report(
                    accessToken: token.value, expiresAt: token.expiresAt, scope: token.scope,
                    tokenType: token.tokenType, dpop: fields?.proof))
        } else if let fields {
            for line in fields.lines { Output.line(line) }
        } else {
            Output.line(token.value)
            if token.isBound && isatty(STDERR_FILENO) == 1 {
                Output.note(
                    "vault: this token is bound to a key (DPoP). Each request needs a proof: \(Proposed.command("token --proof 'GET URL'"))"
                )
            }
        }
    }

    private struct Report: Encodable {
        let accessToken: String
        /// Nil if the expiry is not known.
        let expiresAt: Date?
        let scope: String?
        let tokenType: String
        let dpop: String?
    }
}

/// `--proof`: a request that an access token is for.
struct ProvenRequest {
    let method: String
    let url: String

    init(method: String, url: String) { (self.method, self.url) = (method, url) }

    /// - Parameter text: `METHOD URL`.
    init(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 2, Self.isMethod(words[0]),
            let url = URLComponents(string: words[1]), ["http", "https"].contains(url.scheme?.lowercased()),
            url.host?.isEmpty == false
        else { throw ValidationError("--proof takes a method and a URL in one word: 'GET https://api.example.com/'") }
        (method, self.url) = (words[0].uppercased(), words[1])
    }

    static func isMethod(_ word: String) -> Bool { !word.isEmpty && word.allSatisfy { $0.isASCII && $0.isLetter } }

    /// The header fields of the request (RFC 9449 section 7.1, RFC 6750 section 2.1).
    func fields(
        of token: AccessToken, nonce: String?, _ auth: any AuthProtocol
    ) async throws -> (proof: String?, lines: [String]) {
        guard token.isBound else { return (nil, ["Authorization: Bearer \(try token.text)"]) }
        let proof = try await auth.proof(method: method, url: url, accessToken: token, nonce: nonce)
        return (proof, ["Authorization: DPoP \(try token.text)", "DPoP: \(proof)"])
    }
}
