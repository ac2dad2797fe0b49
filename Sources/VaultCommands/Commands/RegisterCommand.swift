internal import ArgumentParser
internal import CredentialVault

struct RegisterCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Sign in at an identity provider or backend, and choose a password.",
        discussion: """
              vault register --alias alice
              vault register https://login.example.com --client-id ID --key-service https://keys.example.com

            The second line is for a provider that you use for the first time. When the provider has answered, vault \
            saves the URL as the setting issuer, and also these options as settings: --client-id, \
            --client-secret-file, --key-service, --ca-file, --redirect-uri and --method.

            vault opens the browser for the sign-in. If there is no browser, vault shows a code for another device, or \
            the address to open. Then choose a password of at least 8 characters. vault refuses common passwords.

            If the account is registered already, its password opens it, and items and unlock methods stay. At a terminal, \
            the PIN, the recovery code or hardware can open it, too.

            Without a client id, vault registers a client at the provider, if the provider offers that.

            On a machine that only you use, you can do without a key service. Then this machine's TPM counts wrong \
            PINs, and nobody can revoke the machine if it is stolen:

              vault register --no-key-service
            """)

    @Argument(
        help: ArgumentHelp(
            "The issuer URL of a provider, or the URL of a backend, to save as a setting.", valueName: "url"))
    var provider: String?

    @OptionGroup var holding: HoldingOptions
    @OptionGroup var agent: AgentOption
    @OptionGroup var global: GlobalOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var signIn: SignInOptions
    @OptionGroup var noKeyService: NoKeyServiceOptions

    // For a name that begins with a hyphen, the parser would only say that the value is missing.
    @Option(
        parsing: .unconditional, help: ArgumentHelp("A short name for the account, for --user.", valueName: "name"))
    var alias: String?

    @Flag(name: .customLong("recovery-code"), help: "Also make a recovery code, and print it once.")
    var recoveryCode = false

    @Flag(
        name: .customLong("allow-offline"),
        help: """
            Also let the password open the account without the network. A thief who has the disk can then try \
            passwords without limit.
            """)
    var allowOffline = false

    @Flag(help: "Do not ask before existing items are lost, or before the session of another account is locked.")
    var yes = false

    func validate() throws {
        if let alias, alias.isEmpty || alias.contains(where: \.isNewline) || alias.count > 100 {
            throw ValidationError("An alias has 1 to 100 characters on one line.")
        }
        if provider != nil && global.issuer != nil {
            throw ValidationError("The URL of the provider is given twice. Leave out --issuer.")
        }
        if signIn.newClient && global.clientID != nil {
            throw ValidationError("--new-client and --client-id exclude each other.")
        }
        if noKeyService.isChosen && (global.keyService != nil || allowOffline || recoveryCode) {
            throw ValidationError("--no-key-service excludes --key-service, --allow-offline and --recovery-code.")
        }
        if [password.file, signIn.credentials.file, signIn.code.file].count(where: { $0 == "-" }) > 1 {
            throw ValidationError("Only one of the passwords and the code can come from standard input.")
        }
    }

    func run() async throws {
        let terminal = try await Asking.terminal()
        let saving = try provider.map { try ProviderSettings(issuer: $0, options: options) }
        var more = signIn.settings
        if let provider { more[.issuer] = provider }
        let settings = try await Settings(global, more: more)
        let usual = try settings.signInChoice
        let chosen = signIn.chosenMethod(over: usual)
        var choice = chosen ?? usual ?? .browser
        // An option for the browser overrides the method of the settings.
        if chosen == nil && choice == .device && !signIn.redirect.isStandard { choice = .browser }
        try signIn.check(choice)
        let configuration = try configuration(settings, choice)
        let vault = try await global.openVault { $0 = configuration }
        let storage = vault.storage
        // Checked before the browser opens. An account that is here may open in another way.
        if try await storage.all().isEmpty { try storage.policy.requireAllowed(noKeyService.firstKind) }
        if let issuer = configuration.issuer { try storage.policy.requireAllowed(issuer: issuer) }
        try storage.policy.requireAllowed(keyService: configuration.keyServiceURL ?? "")
        if allowOffline { try storage.policy.requireAllowed(.offline) }
        if recoveryCode { try storage.policy.requireAllowed(.recovery) }
        guard password.isGiven || terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid,
                "There is no terminal to ask for a password. Use --password-file PATH or --password-fd N.")
        }
        if signIn.redirect.paste && !terminal.asksForText && (password.file == "-" || signIn.credentials.file == "-") {
            throw VaultError(
                .configurationInvalid,
                "Standard input cannot hold both a password and the address. Put the password into a file."
            )
        }
        // With a given password nothing is asked: a script that has the option wants it.
        if allowOffline && !yes && !password.isGiven { try await OfflineConsent.ask(terminal) }
        let newHardware = try await noKeyService.provider(settings)
        if let cost = noKeyService.cost, !global.json { Output.note(cost) }
        // Problems that can be found early are found before the person goes to the browser.
        let source = try await password.source.readAhead()
        if try await storage.all().isEmpty, newHardware == nil {
            try storage.policy.requireAllowed(.password)
            if case .held(let secret) = source, let failure = storage.policy.failure(ofNewPassword: secret.bytes) {
                throw failure
            }
        }
        SchemeHandler.removeAbandoned()
        if let alias { try await Self.requireFree(alias, in: storage) }
        if !global.json { try await Self.tellOfOtherKeyServices(than: configuration.keyServiceURL ?? "", storage) }
        try await storage.checkReady()
        choice = try await available(choice, isChosen: chosen != nil, vault, issuer: configuration.issuer)
        if !global.json { Self.warn(ofInsecureHTTP: configuration) }
        if let saving, choice.isOpenID {
            // The provider has to answer. If the sign-in fails, the person need not type all this again.
            _ = try await vault.auth.offersDeviceSignIn()
            try await saving.store(isQuiet: global.json)
        }
        let token = try await SigningIn(
            vault: vault, choice: choice, options: signIn, configuration: configuration,
            isPrivate: try signIn.redirect.isPrivate(settings), terminal: terminal, isQuiet: global.json
        ).run()
        let agent = try AgentSessions(settings)
        let registration = Registration(
            vault: vault, hardware: Hardware(settings), token: token, alias: alias, source: source, terminal: terminal,
            mayLoseItems: yes, isQuiet: global.json, isHeld: { await agent.holding($0) != nil },
            prompt: choice.takesPassword ? "New password for this vault" : "New password", newHardware: newHardware)
        var change: AliasChange?
        if let existing = try? await storage.registeredAccount(token.account) {
            change = await AliasChange(of: existing, in: vault)
        }
        let method = try await registration.runOrRevoke()
        if !self.agent.noAgent { await agent.noteLocks(global) }
        if let saving, !choice.isOpenID { try await saving.store(isQuiet: global.json) }
        try await addMethods(to: token.account, in: vault, method, change, terminal)
    }

    /// The options about the provider, by their settings.
    private var options: [Settings.Name: String?] {
        [
            .clientID: global.clientID, .clientSecretFile: signIn.clientSecretFile, .keyService: global.keyService,
            .caFile: global.caFile, .redirectURI: signIn.redirect.redirectURI, .method: signIn.method?.name,
        ]
    }

    /// Adds the unlock methods that the options name. Reports the account even if that fails, because it is registered
    /// by then.
    private func addMethods(
        to id: AccountID, in vault: Vault, _ method: UnlockMethod, _ change: AliasChange?,
        _ terminal: any Terminal
    ) async throws {
        guard var account = try await vault.storage.registeredAccount(id), let session = vault.auth.session else {
            return
        }
        await Proposed.note(account, in: vault)
        var change = change
        await change?.finish(as: account, in: vault)
        let vaultKey = try await session.openVaultKey()
        var failure: VaultError?
        if allowOffline {
            do {
                try await addOffline(to: account, session, method, terminal)
                account = try await vault.storage.registeredAccount(id) ?? account
            } catch let error as VaultError {
                failure = error.saying(
                    "\(error.sentences) The account is registered, but does not open without the network. To add that: \(Proposed.command("unlock add offline"))"
                )
            }
        }
        var code: Result<NewRecoveryCode, VaultError>?
        if method.kind.asksNothing && recoveryCode {
            // A browser may sign in without a question, too. So this could be anybody at an unlocked screen.
            code = .failure(
                VaultError(
                    .secretRequired,
                    "The \(method.kind.displayName) does not ask who you are, so no recovery code was made. To make one: \(Proposed.command("unlock add recovery"))",
                    unlockMethod: method.kind))
        } else if recoveryCode || method.kind == .recovery {
            code = await NewRecoveryCode.made(
                for: account, vaultKey: vaultKey, in: vault, isQuiet: global.json)
        }
        let isOpen = try await holding.leaveToAgent(session, agent, saysYes: yes, global)
        try await report(account, change, try? code?.get(), isOpen: isOpen, in: vault)
        _ = try code?.get()
        if let failure { throw failure }
    }

    /// Adds the offline method with the password that was just typed. Otherwise asks for the password of the account.
    private func addOffline(
        to account: Account, _ session: Session, _ method: UnlockMethod, _ terminal: any Terminal
    ) async throws {
        let password: SharedSecret
        if method.kind == .password, let typed = method.typedSecret {
            password = typed
        } else {
            let name = Printable.text(account.displayName)
            password = SharedSecret(
                try await terminal.askSecret("Password of \(name), for opening without the network: "))
        }
        try await Spinner.during("Adding the offline unlock method", isQuiet: global.json) {
            try await session.addOffline(password: password.bytes)
        }
    }

    private func configuration(_ settings: Settings, _ choice: SignInChoice) throws -> VaultConfiguration {
        for (name, option) in [(Settings.Name.issuer, "--issuer"), (.keyService, "--key-service")]
        where settings[name] == nil && (name != .keyService || !noKeyService.isChosen) {
            let otherwise =
                name == .keyService ? ". On a machine that only you use: vault register --no-key-service" : ""
            throw VaultError(
                .configurationInvalid,
                "Registering needs \(name.help). To set up this machine: vault setup. Or use \(option) URL, or: vault config set \(name.rawValue) URL\(otherwise)"
            )
        }
        var configuration = try settings.configuration()
        if noKeyService.isChosen { configuration.useNoKeyService() }
        configuration.redirectURI = signIn.redirect.redirectURI ?? configuration.redirectURI
        configuration.registersClientAnew = signIn.newClient
        if signIn.newClient { configuration.clientID = nil }
        configuration.clientSecret = try clientSecret(settings, choice)
        configuration.signInParameters = try signIn.parameters.over(settings).checked()
        if signIn.noDPoP { configuration.usesDPoP = false }
        configuration.allowsInsecureHTTP = signIn.insecureHTTP
        // The client id of the settings belongs to an OpenID provider. A server registers clients itself.
        if choice == .server { configuration.clientID = global.clientID }
        if let problem = configuration.backendProblem, !choice.isOpenID { throw problem }
        return configuration
    }

    /// Says before anything is sent that everybody in the network can read it.
    private static func warn(ofInsecureHTTP configuration: VaultConfiguration) {
        guard configuration.allowsInsecureHTTP, let issuer = configuration.issuer,
            (try? ServerEndpoint(issuer, allowsInsecureHTTP: true))?.isInsecure == true
        else { return }
        Output.note(
            "vault: INSECURE: The connection to \(Printable.text(issuer)) is not encrypted. Everybody in this network can read and change what is sent, also your password and your tokens."
        )
    }

    /// The client secret; nil if the sign-in needs none.
    private func clientSecret(_ settings: Settings, _ choice: SignInChoice) throws -> SharedSecret? {
        // A server registers clients itself, unless an option names one.
        let mayHaveSecret = choice.isOpenID || choice == .server && global.clientID != nil
        guard mayHaveSecret, !signIn.newClient else { return nil }
        guard let path = settings.clientSecretFile else {
            if settings[.clientSecretFile] != nil && !global.json {
                Output.note(
                    "vault: the setting client-secret-file is not used, because it belongs to another issuer or client id. To use a secret here: vault register --client-secret-file PATH"
                )
            }
            return nil
        }
        guard settings[.clientID] != nil else {
            throw VaultError(
                .configurationInvalid,
                "The client secret in \(Printable.text(path)) needs a client id. To set it: vault config set client-id ID"
            )
        }
        return try ClientSecretFile(path: path).read()
    }

    /// The way to sign in. Without a browser it is the device code, if the provider offers that.
    private func available(_ choice: SignInChoice, isChosen: Bool, _ vault: Vault, issuer: String?) async throws
        -> SignInChoice
    {
        let isOpen = choice == .browser && !isChosen && !Desktop.hasBrowser && signIn.redirect.isStandard
        guard choice == .device || isOpen else { return choice }
        let canUseDevice = try await vault.auth.offersDeviceSignIn()
        if choice == .device && !canUseDevice {
            throw VaultError(
                .configurationInvalid,
                "The identity provider does not offer to sign in on another device. Use --paste with a browser on any machine, or --no-browser."
            )
        }
        if isOpen && canUseDevice && !global.json {
            let isLocal = issuer.map(DevicePrompt.isLocal) ?? false
            let advice =
                isLocal
                ? " To use one on this machine, stop with Ctrl-C and \(Proposed.again(with: "--no-browser"))"
                : " To sign in with a browser on another machine, and without a code, stop with Ctrl-C and \(Proposed.again(with: "--paste"))"
            Output.note("There is no browser here.\(advice)")
        }
        return canUseDevice ? .device : choice
    }

    private func report(
        _ account: Account, _ change: AliasChange?, _ recoveryCode: NewRecoveryCode?, isOpen: Bool, in vault: Vault
    ) async throws {
        if global.json {
            var report = AccountReport(account)
            change?.add(to: &report)
            report.recoveryCode = recoveryCode?.text
            let recovery = Keyslot.Kind.recovery.rawValue
            if recoveryCode != nil && !report.unlockMethods.contains(recovery) { report.unlockMethods.append(recovery) }
            try Output.importantJSON(report)
            try await recoveryCode?.add()
        } else {
            if let change {
                if change.isChange { Output.note(change.text) }
                change.tellUses()
            }
            Output.line("Registered \(account.displayName) (\(account.id)).")
            try await recoveryCode?.showAndAdd()
            if !account.hasKeyService {
                Output.note(
                    "\(NoKeyServiceOptions.fact) To move to a key service later: \(Proposed.command("key-services set URL"))"
                )
            }
            BoundToken.tell(account)
            // An account that the agent holds open needs no login.
            let next = isOpen ? "token" : "login"
            Output.note("Next: vault \(next) \(await vault.storage.userOption(of: account.id))")
        }
    }
}
