internal import ArgumentParser
internal import CredentialVault

/// What a sign-in at an OpenID provider asks for besides the protocol's own.
struct ParameterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            What the provider shows: login, consent or select_account. With none it shows nothing, and the sign-in fails \
            if it has to ask.
            """, valueName: "word"))
    var prompt: String?

    @Option(
        name: .customLong("login-hint"),
        help: ArgumentHelp("Who is going to sign in, to fill in the login form.", valueName: "text"))
    var loginHint: String?

    @Option(
        name: .customLong("acr-values"),
        help: ArgumentHelp(
            "How you should prove who you are. The provider may do less, and vault does not compare.",
            valueName: "text"))
    var acrValues: String?

    @Option(
        help: ArgumentHelp(
            "The API that the access token is for, where the provider wants to know it.", valueName: "text"))
    var audience: String?

    @Option(
        name: .customLong("ui-locales"),
        help: ArgumentHelp("The languages of the provider's pages, such as \"da en\".", valueName: "text"))
    var uiLocales: String?

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "Another parameter of the sign-in, such as access_type=offline. May be given several times.",
            valueName: "name=value"))
    var others: [String] = []

    func validate() throws {
        let names = pairs.map(\.name)
        guard others.allSatisfy({ $0.contains("=") && !$0.hasPrefix("=") }) else {
            throw ValidationError("--parameter has to be NAME=VALUE.")
        }
        guard Set(names).count == names.count else {
            throw ValidationError("--parameter names the same parameter more than once.")
        }
    }

    var areGiven: Bool { loginHint != nil || !others.isEmpty || settings.values.contains { $0 != nil } }

    /// The settings that these options go before.
    var settings: [Settings.Name: String?] {
        [.prompt: prompt, .acrValues: acrValues, .audience: audience, .uiLocales: uiLocales]
    }

    /// These, and what else the settings say.
    ///
    /// - Parameter settings: made with these options' own.
    func over(_ settings: Settings) throws -> SignInParameters {
        let own = SignInParameters(
            loginHint: loginHint,
            additionalParameters: Dictionary(pairs.map { ($0.name, $0.value) }) { $1 })
        return own.over(try Settings.parameters { settings[$0] })
    }

    private var pairs: [(name: String, value: String)] {
        others.map { text in
            let name = text.prefix { $0 != "=" }
            return (String(name), String(text.dropFirst(name.count + 1)))
        }
    }
}

extension Settings {
    /// What the settings say that a sign-in asks for.
    ///
    /// - Parameter value: the value of a setting.
    static func parameters(_ value: (Name) -> String?) throws -> SignInParameters {
        guard let others = FormParameters.decode(value(.parameters) ?? ""),
            Set(others.map(\.name)).count == others.count
        else {
            throw VaultError(
                .configurationInvalid,
                "parameters has to be NAME=VALUE&NAME=VALUE, each name once, with %26 for & and %25 for % in a value.")
        }
        return SignInParameters(
            prompt: value(.prompt), acrValues: value(.acrValues), uiLocales: value(.uiLocales),
            audience: value(.audience), additionalParameters: Dictionary(others.map { ($0.name, $0.value) }) { $1 })
    }
}

extension SignInParameters {
    /// - Throws: `VaultError` with code `configurationInvalid`, which names the parameter that cannot be set.
    func checked() throws -> SignInParameters {
        do { try validate() } catch { throw VaultError.converting(error) }
        return self
    }
}
