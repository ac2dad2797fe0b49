internal import ArgumentParser
internal import CredentialVault

/// Further parameters of a sign-in at an OpenID provider.
struct ParameterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The provider's page: login, consent, select_account or none. With none, the sign-in fails if the provider \
            has to ask.
            """, valueName: "word"))
    var prompt: String?

    @Option(
        name: .customLong("login-hint"),
        help: ArgumentHelp("A user name or e-mail address to fill into the login form.", valueName: "text"))
    var loginHint: String?

    @Option(
        name: .customLong("acr-values"),
        help: ArgumentHelp(
            "How the provider should check who you are. vault does not check that the provider did so.",
            valueName: "text"))
    var acrValues: String?

    @Option(
        help: ArgumentHelp(
            "The API that the access token is for, if the provider asks for it.", valueName: "text"))
    var audience: String?

    @Option(
        name: .customLong("ui-locales"),
        help: ArgumentHelp("The languages of the provider's pages, such as \"da en\".", valueName: "text"))
    var uiLocales: String?

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "Another parameter of the sign-in, such as access_type=offline. Can be repeated.",
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

    /// The settings that these options override.
    var settings: [Settings.Name: String?] {
        [.prompt: prompt, .acrValues: acrValues, .audience: audience, .uiLocales: uiLocales]
    }

    /// These parameters, and the other parameters of the settings.
    ///
    /// - Parameter settings: settings that were made with these options.
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
    /// The parameters of a sign-in in the settings.
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
