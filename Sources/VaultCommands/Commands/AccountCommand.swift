internal import ArgumentParser
internal import CredentialVault

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Rename an account, or change how it signs in.",
        subcommands: [Rename.self, SwitchMethod.self])

    struct Rename: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Give an account another alias. Needs no password and no network.",
            discussion: """
                  vault account rename work --user alice

                If the old alias does not name the account any more, and your setting user has it, vault also changes \
                the setting. Programs and helpers with the old alias then need the new one.
                """)

        @Argument(help: "The new alias, for --user. It cannot begin with a hyphen. To remove the alias: ''")
        var alias: String
        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let vault = try await global.openVault()
            let account = try await user.account(in: vault)
            var change = await AliasChange(of: account, in: vault)
            try await vault.storage.setAlias(alias.isEmpty ? nil : alias, of: account.id)
            let renamed = try await vault.storage.account(account.id)
            await change.finish(as: renamed, in: vault)
            if global.json {
                var report = AccountReport(renamed)
                change.add(to: &report)
                return Output.json(report)
            }
            Output.line(change.text)
            change.tellUses()
        }
    }

    struct SwitchMethod: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "switch-method",
            abstract: "Change how an account signs in at its server: by OAuth or with an API token.",
            discussion: """
                Sign in again as the same person: in the browser for OAuth, with user name and password for an API \
                token. The new token replaces the old one. vault asks the server to end the old token. The account \
                keeps its password and items.

                  vault account switch-method --to oauth
                """)

        enum Method: String, CaseIterable, ExpressibleByArgument {
            case oauth
            case apiToken = "api-token"

            var stored: SignInMethod { self == .oauth ? .serverOAuth : .serverToken }
            var choice: ServerSignIn.Choice { self == .oauth ? .oauth : .apiToken }
            var words: String { self == .oauth ? "by OAuth" : "with an API token" }
        }

        @Option(help: ArgumentHelp("How the account signs in from now on.", valueName: "method"))
        var to = Method.oauth

        @OptionGroup var user: UserOption
        @OptionGroup var password: PasswordOptions
        @OptionGroup var redirect: RedirectOptions
        @OptionGroup var credentials: CredentialOptions
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            if credentials.areGiven && to == .oauth {
                throw ValidationError(
                    "--username, --login-password-file and --login-password-fd are for --to api-token.")
            }
            if !redirect.isStandard && to == .apiToken {
                throw ValidationError("The options for the browser are for --to oauth.")
            }
        }

        func run() async throws {
            let terminal = try await Asking.terminal()
            let account = try await user.account(in: global.openVault())
            let settings = try await Settings(global)
            var configuration = try settings.configuration()
            configuration.issuer = account.id.issuer
            configuration.redirectURI = redirect.redirectURI ?? configuration.redirectURI
            // The client id of the settings usually belongs to another account's provider.
            configuration.clientID = global.clientID
            let vault = try await global.openVault { $0 = configuration }
            let name = Printable.text(account.displayName)
            guard [.serverToken, .serverOAuth].contains(account.method) else {
                throw VaultError(
                    .configurationInvalid,
                    "Only an account at a server with API tokens can switch. The method of \(name) is \(account.method)."
                )
            }
            guard account.method != to.stored else {
                throw VaultError(
                    .configurationInvalid, "\(name) already signs in \(to.words). Nothing was changed.")
            }
            let question = CredentialQuestion(credentials, terminal, nameOfUsername: "User name")
            if to == .apiToken { try question.requirePossible() }
            let secret = try await password.source.password("Password of \(name): ", terminal)
            let status = try StatusChannel(redirect.statusDescriptor)
            let login = BrowserLogin(
                options: redirect, isPrivate: try redirect.isPrivate(settings),
                redirectURI: configuration.redirectURI, status: status, terminal: terminal, isQuiet: global.json)
            SchemeHandler.removeAbandoned()
            let choice = to.choice
            let failure = try await login.run(vault) { browser, delivery in
                try await vault.auth.switchMethod(
                    of: account.id, password: secret,
                    to: ServerSignIn(using: browser, redirect: delivery, asking: question, choosing: choice))
            }
            status.tell(.signedIn(account.id))
            guard let changed = try await vault.storage.registeredAccount(account.id) else { return }
            if global.json {
                return Output.json(
                    Report(account: AccountReport(changed), oldTokenEnded: failure == nil, reason: failure?.text)
                )
            }
            Output.line("\(name) signs in \(to.words) from now on.")
            if let failure {
                Output.note("vault: the server did not end the old token: \(failure.text)")
            }
        }

        private struct Report: Encodable {
            let account: AccountReport
            let oldTokenEnded: Bool
            let reason: String?
        }
    }
}
