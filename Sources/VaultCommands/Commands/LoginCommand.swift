internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct LoginCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in again with the password, without a browser.",
        discussion: """
            Opens the account, renews its tokens at the identity provider and stores them. Each wrong password is \
            counted by the key service, which locks the key after a few.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var password: PasswordOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let secret = try await password.source.password(
            "Password of \(Printable.text(account.displayName)): ", ControllingTerminal())
        let token = try await Spinner.during("Signing in", isQuiet: global.json) {
            let session = try await vault.auth.unlock(account, password: secret)
            return try await session.patientAccessToken(forceRefresh: true)
        }
        if global.json {
            Output.json(
                Report(
                    subject: account.id.subject, issuer: account.id.issuer, expiresAt: token.expiresAt,
                    scope: token.scope))
        } else {
            let end = token.expiresAt.map { " The access token is valid until \($0.formatted(.iso8601))." } ?? ""
            Output.line("Signed in as \(Printable.text(account.displayName)).\(end)")
        }
    }

    private struct Report: Encodable {
        let subject: String
        let issuer: String
        let expiresAt: Date?
        let scope: String?
    }
}
