internal import ArgumentParser

/// How the browser opens the login, and how the answer comes back.
struct RedirectOptions: ParsableArguments {
    @Flag(name: .customLong("no-browser"), help: "Print the address, and do not open it.")
    var noBrowser = false

    @Flag(
        help: """
            For a browser on another machine: print the address to open, then ask for the last address of the browser. \
            Without a terminal, read that from standard input.
            """)
    var paste = false

    @Flag(
        name: .customLong("private-browser"),
        help: "Open a private browser window. No login stays there for the next person.")
    var privateBrowser = false

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            """
            The exact redirect URI, if the provider demands one. Examples: http://127.0.0.1:8765/callback, \
            myapp://callback. vault handles the scheme myapp during the sign-in.
            """, valueName: "uri"))
    var redirectURI: String?

    /// Whether to open the browser, and not to print the address.
    var opensBrowser: Bool { !noBrowser && !paste && Desktop.hasBrowser }

    /// Whether to open a private window: because of the option, or of the setting if the browser opens.
    func isPrivate(_ settings: Settings) throws -> Bool {
        guard !privateBrowser, !noBrowser, !paste else { return privateBrowser }
        return try settings[.privateBrowser].map(Settings.Name.privateBrowser.isOn) ?? false
    }

    /// Whether no option is about the browser.
    var isStandard: Bool { !noBrowser && !paste && !privateBrowser && redirectURI == nil }

    func validate() throws {
        if privateBrowser && (noBrowser || paste) {
            throw ValidationError("--private-browser excludes --no-browser and --paste.")
        }
    }

    @Option(
        name: .customLong("status-fd"),
        help: ArgumentHelp(
            """
            Write each step of the sign-in to an open file descriptor, as one line of JSON. The member event is \
            authorization (with url), device (with user_code, verification_uri, verification_uri_complete and \
            expires_at) or signed_in (with subject and issuer).
            """, valueName: "number"))
    var statusDescriptor: Int32?
}

/// How `vault register` signs in.
struct SignInOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("How to sign in. (default: browser)", valueName: "method"))
    var method: SignInChoice?

    @Flag(
        help: """
            The same as --method device. The default if there is no browser. With --method server: show a code of the server.
            """)
    var device = false

    @OptionGroup var redirect: RedirectOptions

    @Flag(
        name: .customLong("new-client"),
        help: "Without --client-id: register a new client, even if vault registered one before.")
    var newClient = false

    @Flag(
        name: .customLong("insecure-http"),
        help: """
            Allow plain http to a backend or server of your own on the local network. Everybody in that network can then \
            read and change what is sent, also passwords and tokens.
            """)
    var insecureHTTP = false

    @Flag(
        name: .customLong("no-dpop"),
        help:
            "Do not bind the tokens to a key (DPoP, RFC 9449), for programs that make no proofs: git, docker, kubectl.")
    var noDPoP = false

    @Option(
        name: .customLong("client-secret-file"),
        help: ArgumentHelp(
            "A file with the secret of the client. Only you may read the file (chmod 600).",
            valueName: "path"), completion: .file())
    var clientSecretFile: String?

    @OptionGroup var parameters: ParameterOptions

    @OptionGroup var credentials: CredentialOptions

    @OptionGroup var code: CodeOptions

    /// The settings that these options override.
    var settings: [Settings.Name: String?] {
        [.clientSecretFile: clientSecretFile].merging(parameters.settings) { $1 }
    }

    /// The choice that the options name; nil if they name none.
    ///
    /// - Parameter usual: the choice of the settings.
    func chosenMethod(over usual: SignInChoice? = nil) -> SignInChoice? {
        method ?? (device ? (usual == .server ? .server : .device) : nil)
    }

    func validate() throws {
        if device, let method, method != .device && method != .server {
            throw ValidationError("--device and --method \(method.name) exclude each other.")
        }
        if newClient && clientSecretFile != nil {
            throw ValidationError("--new-client and --client-secret-file exclude each other.")
        }
        if let chosen = chosenMethod() { try check(chosen) }
    }

    /// Refuses options that have no meaning for a choice.
    func check(_ choice: SignInChoice) throws {
        let takesRedirect = choice.takesRedirect && !device
        let name = device ? "device" : choice.name
        if redirect.paste && !takesRedirect {
            throw ValidationError("--paste is for a sign-in in the browser, and not for \(name).")
        }
        if redirect.privateBrowser && !takesRedirect {
            throw ValidationError("--private-browser is for a sign-in in the browser, and not for \(name).")
        }
        if insecureHTTP && choice.isOpenID {
            throw ValidationError("--insecure-http is for --method backend, password, server and token.")
        }
        if parameters.areGiven && !choice.takesParameters {
            throw ValidationError(
                "--prompt, --login-hint, --acr-values, --audience, --ui-locales and --parameter are for --method browser and device."
            )
        }
        if parameters.prompt == "none" && choice == .device {
            throw ValidationError("--prompt none is for a sign-in in the browser, and not for device.")
        }
        if credentials.areGiven && (!choice.takesPassword || device) {
            throw ValidationError(
                """
                --username, --login-password-file and --login-password-fd are for --method password, password-grant, \
                server and token.
                """)
        }
        if credentials.username != nil && choice == .token {
            throw ValidationError("--username is not for --method token, because the server says whose token it is.")
        }
        if code.areGiven && choice != .password {
            throw ValidationError("--code-file and --code-fd are for --method password.")
        }
    }
}

/// The user name and password for a backend or provider. This password is not the vault's.
struct CredentialOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The user name, or e-mail address, for a sign-in with a password.", valueName: "name"))
    var username: String?

    @Option(
        name: .customLong("login-password-file"),
        help: ArgumentHelp(
            "Read the sign-in password or API token from a file (- for standard input), not the vault's password.",
            valueName: "path"),
        completion: .file())
    var file: String?

    @Option(
        name: .customLong("login-password-fd"),
        help: ArgumentHelp("Read the sign-in password or API token from an open file descriptor.", valueName: "number"))
    var descriptor: Int32?

    func validate() throws {
        if file != nil && descriptor != nil {
            throw ValidationError("--login-password-file and --login-password-fd exclude each other.")
        }
    }

    var areGiven: Bool { username != nil || file != nil || descriptor != nil }

    var source: SecretSource {
        if let file { return .file(file) }
        if let descriptor { return .descriptor(descriptor) }
        return .terminal
    }
}

/// The code of a second factor at a backend.
struct CodeOptions: ParsableArguments {
    @Option(
        name: .customLong("code-file"),
        help: ArgumentHelp(
            "Read the code of the second factor from a file (- for standard input), if the backend asks for one.",
            valueName: "path"),
        completion: .file())
    var file: String?

    @Option(
        name: .customLong("code-fd"),
        help: ArgumentHelp("Read the code of the second factor from an open file descriptor.", valueName: "number"))
    var descriptor: Int32?

    func validate() throws {
        if file != nil && descriptor != nil {
            throw ValidationError("--code-file and --code-fd exclude each other.")
        }
    }

    var areGiven: Bool { file != nil || descriptor != nil }

    var source: SecretSource {
        if let file { return .file(file) }
        if let descriptor { return .descriptor(descriptor) }
        return .terminal
    }
}
