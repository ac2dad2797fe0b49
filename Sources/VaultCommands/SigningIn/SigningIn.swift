internal import CredentialVault
internal import Foundation

/// The first half of `vault register`: the person signs in.
struct SigningIn {
    let vault: Vault
    let choice: SignInChoice
    let options: SignInOptions
    /// The configuration from options, environment and file.
    let configuration: VaultConfiguration
    /// Whether the browser opens a private window.
    let isPrivate: Bool
    let terminal: any Terminal
    let isQuiet: Bool

    /// - Returns: the token, which is not stored yet.
    func run() async throws -> SignInResult {
        let status = try StatusChannel(options.redirect.statusDescriptor)
        defer { Spinner.stopAll() }
        let token: SignInResult
        do {
            token = try await choice.run(self, status)
        } catch let error as VaultError {
            throw advised(error)
        }
        Spinner.stopAll()
        status.tell(.signedIn(token.account))
        // Said before vault asks for a password: another person may have signed in here.
        if !isQuiet { Output.note("Signed in as \(Self.name(of: token)).") }
        return token
    }

    /// The name and the e-mail address, or else the subject. Beside the address, a name cannot look like
    /// another one.
    static func name(of token: SignInResult) -> String {
        let name = (token.identity.name ?? token.identity.preferredUsername).map { name in
            Printable.text(name.filter { !"<>".contains($0) })
        }
        let email = token.identity.email.map { Printable.text($0.filter { !"<>".contains($0) }) }
        switch (name, email) {
        case (let name?, let email?): return "\(name) <\(email)>"
        case (let name?, nil): return name
        case (nil, let email?): return email
        case (nil, nil): return Printable.text(token.account.subject)
        }
    }

    // MARK: - With a password

    func withPassword(
        _ nameOfUsername: String, _ makeSignIn: (UserCredentials, any CredentialPrompt) throws -> any SignIn
    ) async throws -> SignInResult {
        let question = CredentialQuestion(
            options.credentials, terminal, nameOfUsername: nameOfUsername, code: options.code.source)
        try question.requirePossible()
        return try await question.untilRight {
            let typed = try await question.credentials(at: configuration.issuer ?? "")
            return try await Spinner.during("Signing in", isQuiet: isQuiet) {
                try await vault.auth.signIn(try makeSignIn(typed, question))
            }
        }
    }

    // MARK: - With an API token

    func withToken() async throws -> SignInResult {
        let source = options.credentials.source
        let isTyped = if case .terminal = source { true } else { false }
        guard !isTyped || terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid,
                "There is no terminal to ask for the API token. Use --login-password-file PATH (- for standard input) or --login-password-fd N."
            )
        }
        while true {
            let server = Printable.text(configuration.issuer ?? "")
            let signIn = try APITokenSignIn(token: try await source.password("API token for \(server): ", terminal))
            do {
                return try await Spinner.during("Signing in", isQuiet: isQuiet) {
                    try await vault.auth.signIn(signIn)
                }
            } catch let error as VaultError
                where isTyped && [.wrongSecret, .passwordUnusable].contains(error.code)
            {
                terminal.tell("\(error.description) Once more:")
            }
        }
    }

    // MARK: - In the browser

    func inBrowser(
        _ status: StatusChannel, _ makeSignIn: @escaping @Sendable (any UserAgent, RedirectDelivery) -> any SignIn
    ) async throws -> SignInResult {
        try await BrowserLogin(
            options: options.redirect, isPrivate: isPrivate, redirectURI: configuration.redirectURI, status: status,
            terminal: terminal, isQuiet: isQuiet
        ).run(vault) { try await vault.auth.signIn(makeSignIn($0, $1)) }
    }

    // MARK: - Advice

    /// Advice on the client's secret; nil for any other error.
    private func adviceOnSecret(_ error: VaultError) -> String? {
        guard error.code == .configurationInvalid, choice.isOpenID, configuration.clientID != nil,
            let cause = error.underlying as? OpenIDConnectError, cause.code == .refused,
            cause.providerError == "invalid_client" || cause.providerDescription?.contains("client_secret") == true
        else { return nil }
        return configuration.clientSecret == nil
            ? "Check the client id. If the client has a secret, name the file that the secret is in: --client-secret-file PATH"
            : "Check the client id and the client secret."
    }

    /// Adds advice on the client to an error.
    private func advised(_ error: VaultError) -> VaultError {
        if let advice = adviceOnSecret(error) {
            return VaultError(error.code, "\(error.description) \(advice)", underlying: error.underlying)
        }
        guard error.code == .configurationInvalid, choice.isOpenID, configuration.clientID == nil,
            let cause = error.underlying as? OpenIDConnectError, [.unsupported, .refused].contains(cause.code)
        else { return error }
        // The provider no longer knows the client that vault registered before.
        let isForgotten = ["invalid_client", "unauthorized_client"].contains(cause.providerError)
        return VaultError(
            error.code,
            "\(error.description) \(isForgotten ? "To register a new client, add --new-client." : "To name a client, add --client-id ID.")",
            underlying: cause)
    }
}
