internal import ArgumentParser
internal import CredentialVault

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Change how an account signs in.", subcommands: [SwitchMethod.self])

    struct SwitchMethod: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "switch-method",
            abstract: "Have an account with an API token of its server sign in by OAuth from now on.",
            discussion: """
                For a server that has OAuth by now. The same person signs in once in the browser; then the new token takes \
                the place of the old one, which the server is asked to end. The account keeps its password and items.
                """)

        @OptionGroup var user: UserOption
        @OptionGroup var password: PasswordOptions
        @OptionGroup var redirect: RedirectOptions
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let terminal = ControllingTerminal()
            let account = try await user.account(in: global.openVault())
            let settings = try await Settings(global)
            var configuration = try settings.configuration()
            configuration.issuer = account.id.issuer
            configuration.redirectURI = redirect.redirectURI ?? configuration.redirectURI
            if settings[.scopes] == nil { configuration.scopes = [] }
            // The client id of the settings is mostly that of another account's provider.
            configuration.clientID = global.clientID
            let vault = try await global.openVault { $0 = configuration }
            let name = Printable.text(account.displayName)
            guard account.method == .serverToken else {
                throw VaultError(
                    .configurationInvalid,
                    "\(name) does not sign in with an API token (its method is \(account.method)): there is nothing to change."
                )
            }
            let secret = try await password.source.password("Password of \(name): ", terminal)
            let status = try StatusChannel(redirect.statusDescriptor)
            let login = BrowserLogin(
                options: redirect, redirectURI: configuration.redirectURI, status: status, terminal: terminal,
                isQuiet: global.json)
            SchemeHandler.removeAbandoned()
            let failure = try await login.run(vault) { browser, delivery in
                try await vault.auth.switchMethod(
                    userID: account.id.subject, password: secret,
                    to: ServerSignIn(using: browser, redirect: delivery, choosing: .oauth))
            }
            status.tell(.signedIn(account.id))
            guard let changed = try await vault.accounts.store.account(account.id) else { return }
            if global.json {
                return Output.json(
                    Report(account: AccountReport(changed), oldTokenEnded: failure == nil, reason: failure?.description)
                )
            }
            Output.line("\(name) signs in by OAuth from now on.")
            if let failure {
                Output.note("vault: the server did not end the old token: \(failure.description)")
            }
        }

        private struct Report: Encodable {
            let account: AccountReport
            let oldTokenEnded: Bool
            let reason: String?
        }
    }
}
