internal import ArgumentParser
internal import CredentialVault

/// `--method`: how `vault register` signs in. Each choice is a constant below, with a place in ``all``.
struct SignInChoice: Sendable, Equatable, ExpressibleByArgument {
    static let all: [SignInChoice] = [.browser, .device, .backend, .password, .passwordGrant, .server, .token]

    /// The name in `--method`.
    let name: String
    /// A line for `--help`.
    let help: String
    /// The kind of backend; nil for an OpenID provider.
    var backendKind: BackendCheck.Kind?
    /// Whether the person may have to type another password than the vault's, or a token.
    var takesPassword = false
    /// Whether a redirect brings the answer.
    var takesRedirect = false
    /// Whether a provider's parameters, such as `--prompt`, have a meaning for it.
    var takesParameters = false
    /// Signs in.
    let run: @Sendable (SigningIn, StatusChannel) async throws -> SignInResult

    /// Whether the person signs in at an OpenID provider.
    var isOpenID: Bool { backendKind == nil }

    /// The choice of that name; nil when there is none.
    init?(named name: String) {
        guard let choice = Self.all.first(where: { $0.name == name }) else { return nil }
        self = choice
    }

    init(
        name: String, help: String, backendKind: BackendCheck.Kind? = nil, takesPassword: Bool = false,
        takesRedirect: Bool = false, takesParameters: Bool = false,
        run: @escaping @Sendable (SigningIn, StatusChannel) async throws -> SignInResult
    ) {
        self.name = name
        self.help = help
        self.backendKind = backendKind
        self.takesPassword = takesPassword
        self.takesRedirect = takesRedirect
        self.takesParameters = takesParameters
        self.run = run
    }

    static func == (first: SignInChoice, second: SignInChoice) -> Bool { first.name == second.name }

    // MARK: - As an argument

    init?(argument: String) { self.init(named: argument) }

    static var allValueStrings: [String] { all.map(\.name) }

    static var allValueDescriptions: [String: String] {
        Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.help) })
    }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var defaultValueDescription: String { name }
}

// The choices.
extension SignInChoice {
    static let browser = SignInChoice(
        name: "browser", help: "At an OpenID provider, in the browser.", takesRedirect: true, takesParameters: true
    ) { signingIn, status in
        let opensAtOnce = signingIn.options.redirect.opensBrowser
        return try await signingIn.inBrowser(status) {
            BrowserSignIn(using: $0, redirect: $1, opensAtOnce: opensAtOnce)
        }
    }

    static let device = SignInChoice(
        name: "device", help: "At an OpenID provider, with a code that you enter on another device.",
        takesParameters: true
    ) { signingIn, status in
        let prompt = DevicePrompt(status: status, isQuiet: signingIn.isQuiet)
        return try await signingIn.vault.auth.signIn(DeviceSignIn { prompt.show($0) })
    }

    static let backend = SignInChoice(
        name: "backend", help: "In the browser, at a backend that talks to the provider itself.",
        backendKind: .browser, takesRedirect: true
    ) { signingIn, status in
        try await signingIn.inBrowser(status) { BackendSignIn(using: $0, redirect: $1) }
    }

    static let password = SignInChoice(
        name: "password", help: "At a backend, with e-mail address and password.", backendKind: .password,
        takesPassword: true
    ) { signingIn, _ in
        try await signingIn.withPassword("E-mail address") { typed, prompt in
            try PasswordSignIn(email: typed.username, password: typed.password.bytes, asking: prompt)
        }
    }

    static let passwordGrant = SignInChoice(
        name: "password-grant", help: "At an OpenID provider that allows it, with user name and password.",
        takesPassword: true
    ) { signingIn, _ in
        try await signingIn.withPassword("User name") { typed, _ in
            try PasswordGrantSignIn(username: typed.username, password: typed.password.bytes)
        }
    }

    static let server = SignInChoice(
        name: "server",
        help: "At a server that lists its ways: in the browser, else with user name and password.",
        backendKind: .server, takesPassword: true, takesRedirect: true, run: atServer)

    static let token = SignInChoice(
        name: "token", help: "At a server, with an API token that you made on its pages.", backendKind: .server,
        takesPassword: true
    ) { signingIn, _ in
        try await signingIn.withToken()
    }

    @Sendable private static func atServer(_ signingIn: SigningIn, _ status: StatusChannel) async throws -> SignInResult
    {
        if signingIn.options.device {
            let prompt = DevicePrompt(status: status, isQuiet: signingIn.isQuiet)
            return try await signingIn.vault.auth.signIn(ServerDeviceSignIn { prompt.show($0) })
        }
        let question = CredentialQuestion(
            signingIn.options.credentials, signingIn.terminal, nameOfUsername: "User name")
        let prompt = question.isPossible ? question : nil
        do {
            return try await question.untilRight {
                try await signingIn.inBrowser(status) {
                    // A person who has already typed a password need not go to the browser again.
                    ServerSignIn(
                        using: $0, redirect: $1, asking: prompt, choosing: question.wasAsked ? .apiToken : .automatic)
                }
            }
        } catch let error as VaultError
            where error.code == .configurationInvalid && prompt == nil
            && ![.apiTokenFromPage, .plainHTTP, .addressWrong, .clientPageMissing].contains(error.detail)
        {
            throw VaultError(
                error.code,
                "\(error.description) To use an API token in place of OAuth, add --username NAME --login-password-file PATH.",
                underlying: error.underlying)
        }
    }
}
