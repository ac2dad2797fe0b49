internal import ArgumentParser
internal import CredentialVault

struct RegisterCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Sign in at the identity provider, in the browser, and choose a password.",
        discussion: """
            The new password needs at least 8 characters and must not be one of those that are tried first. With \
            --password-file nothing is asked. An account that is registered already keeps its password and items when \
            the password given opens it.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var password: PasswordOptions

    @Option(help: ArgumentHelp("A name of your own for --user.", valueName: "name"))
    var alias: String?

    @Flag(name: .customLong("no-browser"), help: "Print the address to open instead of opening it.")
    var noBrowser = false

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            "The exact redirect URI, where the provider demands one: http://127.0.0.1:PORT/PATH", valueName: "uri"))
    var redirectURI: String?

    @Flag(help: "Go on without asking when items of an existing account are lost.")
    var yes = false

    func validate() throws {
        if let alias, alias.isEmpty || alias.contains(where: \.isNewline) || alias.count > 100 {
            throw ValidationError("An alias has 1 to 100 characters on one line.")
        }
    }

    func run() async throws {
        let terminal = ControllingTerminal()
        let vault = try await openVault()
        guard password.isGiven || terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid,
                "There is no terminal to ask for a password. Use --password-file PATH or --password-fd N.")
        }
        // Everything that can be found out before the person goes to the browser is found out before.
        let source = try await password.source.readAhead()
        if case .held(let secret) = source, try await vault.storage.all().isEmpty,
            let objection = NewPasswordRule.objection(to: secret.bytes)
        {
            throw VaultError(.passwordUnusable, "\(objection) Choose another one.")
        }
        if let alias, let owner = try await vault.storage.all().first(where: { $0.alias == alias }) {
            // Registering the same account again is the one way in which this may still turn out well.
            Output.note("The alias \(alias) belongs to \(owner.id) already.")
        }
        try await vault.checkReady()
        let browser = LoginBrowser(opens: !noBrowser, isQuiet: global.json)
        let token = try await vault.auth.performOpenIDConnectLogin(using: browser)
        do {
            let store = Registration(
                vault: vault, token: token, alias: alias, source: source, terminal: terminal,
                mayLoseItems: yes, isQuiet: global.json)
            try await store.run()
        } catch {
            // Nobody can use what the provider just issued: it should not stay valid. But where an account is stored
            // here already, revoking could end that one's token as well (RFC 7009 section 2.1).
            let isStored = (try? await vault.storage.accounts.store.account(token.account) != nil) ?? true
            if !isStored { _ = await vault.auth.revoke(token) }
            throw error
        }
        try await report(token, in: vault)
    }

    private func openVault() async throws -> Vault {
        let settings = try await Settings(global)
        for (name, option) in [
            (Settings.Name.issuer, "--issuer"), (.clientID, "--client-id"), (.keyService, "--key-service"),
        ]
        where settings[name] == nil {
            throw VaultError(
                .configurationInvalid,
                "Registering needs \(name.help): \(option), CREDENTIAL_VAULT_\(option.dropFirst(2).uppercased().replacing("-", with: "_")), or \"vault config set \(name.rawValue) VALUE\"."
            )
        }
        return try await global.openVault { $0.redirectURI = redirectURI ?? $0.redirectURI }
    }

    private func report(_ token: RefreshToken, in vault: Vault) async throws {
        guard let account = try await vault.storage.accounts.store.account(token.account) else { return }
        if global.json {
            Output.json(AccountReport(account))
        } else {
            Output.line("Registered \(account.displayName) (\(account.id)).")
            Output.note("Next: vault login --user \(ShellQuoting.quoted(account.displayName))")
        }
    }
}

/// Shows the login in the browser, or prints its address.
struct LoginBrowser: UserAgent {
    let opens: Bool
    let isQuiet: Bool

    func open(_ url: String) async throws {
        guard opens else {
            if !isQuiet { Output.note("Open this address in a browser on this machine:") }
            Output.note(url)
            return
        }
        if !isQuiet {
            Output.note("Continue in the browser. (It did not open? Stop with Ctrl-C and use --no-browser.)")
        }
        try await SystemBrowser().open(url)
    }
}
