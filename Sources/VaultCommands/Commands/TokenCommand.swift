internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct TokenCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a valid access token, and nothing else.",
        discussion: """
            A stored token that is still valid is printed as it is, without asking the identity provider. Example: \

            printf 'Authorization: Bearer %s' "$(vault token --user alice)" | curl -H @- https://api.example.com/
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var password: PasswordOptions
    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("min-valid"),
        help: ArgumentHelp("How long the token has to be valid at least.", valueName: "seconds"))
    var minimumValidity = 60

    @Flag(help: "Renew the token also when the stored one is still valid.")
    var refresh = false

    func validate() throws {
        guard (0...86_400).contains(minimumValidity) else {
            throw ValidationError("--min-valid takes 0 to 86400 seconds.")
        }
    }

    func run() async throws {
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let secret = try await password.source.password(
            "Password of \(Printable.text(account.displayName)): ", ControllingTerminal())
        let token = try await Spinner.during("Getting a token", isQuiet: global.json) {
            let session = try await vault.auth.unlock(account, password: secret)
            return try await session.patientAccessToken(
                forceRefresh: refresh, minimumValidity: .seconds(minimumValidity))
        }
        if global.json {
            Output.json(
                Report(
                    accessToken: token.value, expiresAt: token.expiresAt, scope: token.scope, tokenType: token.tokenType
                ))
        } else {
            Output.line(token.value)
        }
    }

    private struct Report: Encodable {
        let accessToken: String
        let expiresAt: Date?
        let scope: String?
        let tokenType: String
    }
}
