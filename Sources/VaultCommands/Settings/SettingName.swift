internal import CredentialVault
internal import Foundation

extension Settings {
    /// One setting, by its name in the file. In the environment it is in capitals behind `CREDENTIAL_VAULT_`.
    enum Name: String, CaseIterable {
        case issuer
        case clientID = "client-id"
        case clientSecretFile = "client-secret-file"
        case keyService = "key-service"
        case keyServiceKeys = "key-service-keys"
        case keyServiceAudience = "key-service-audience"
        case keyServiceProtocol = "key-service-protocol"
        case caFile = "ca-file"
        case hostCAFiles = "host-ca-files"
        case scopes
        case redirectURI = "redirect-uri"
        case prompt
        case acrValues = "acr-values"
        case audience
        case uiLocales = "ui-locales"
        case parameters
        case method
        case privateBrowser = "private-browser"
        case backendFile = "backend-file"
        case dpop
        case offlineMaxAge = "offline-max-age"
        case connectTimeout = "connect-timeout"
        case providerTimeout = "provider-timeout"
        case keyServiceTimeout = "key-service-timeout"
        case displayClaims = "display-claims"
        case pkcs11
        case tpm2
        case user
        case agent
        case openSession = "open-session"
        case idleTimeout = "idle-timeout"
        case sessionLifetime = "session-lifetime"
        case exclusive
        case devices
        case pinentry
        case home
        case allowFUSE = "allow-fuse"
        case settingsKey = "settings-key"
        case settingsSignedAt = "settings-signed-at"

        /// What the setting is, in a few words.
        var help: String { row.help }

        /// The values that it can have.
        var form: Form { row.form }

        /// The variable of the environment: `CREDENTIAL_VAULT_CLIENT_ID` and the like.
        var variable: String { "CREDENTIAL_VAULT_" + jsonName.uppercased() }

        /// The name in the output of `--json`: `client_id` and the like.
        var jsonName: String { String(rawValue.map { $0 == "-" ? "_" : $0 }) }

        /// The value of the environment variable; nil if the variable is not set.
        var environmentValue: String? { getenv(variable).map { String(cString: $0) } }
    }
}

extension Settings.Name {
    /// The table of all settings. A new one needs a case, a row, and the place that reads it: mostly
    /// `Settings.configuration()`. If it belongs to one server, it also has a place in `SettingsChange`, and perhaps in
    /// `SignedSettings.allowed`.
    private var row: (help: String, form: Form) {
        switch self {
        case .issuer: ("the issuer URL of the identity provider, or the URL of a backend", .url)
        case .clientID: ("the client id at the provider (default: vault registers a client)", .text)
        case .clientSecretFile:
            (
                "a file with the client's secret, which only you may read",
                .file { _ = try ClientSecretFile(path: $0).read() }
            )
        case .keyService: ("the base URL of the key service", .url)
        case .keyServiceKeys:
            ("one or two identity keys of the key service, with a space between", .checked(Self.requireKeys))
        case .keyServiceAudience:
            ("the name of the key service in access tokens; any: send the token of the login (default: its URL)", .text)
        case .keyServiceProtocol: ("1: a new account may use version 1 of its protocol (default: 2)", .choice("1", "2"))
        case .caFile: ("a PEM file of further certificate authorities to trust", .file(Self.requireCertificates))
        case .hostCAFiles:
            (
                "the only authorities to trust at a host: HOST=FILE, several with spaces between",
                .hostFiles(Self.requireCertificates)
            )
        case .scopes: ("the scopes of the tokens, with spaces between them", .text)
        case .redirectURI: ("the address to which the provider sends the browser back", .text)
        case .prompt: ("the provider's page: login, consent, select_account or none", .parameter)
        case .acrValues: ("how the provider should check who you are", .parameter)
        case .audience: ("the API that the access tokens are for", .parameter)
        case .uiLocales: ("the languages of the provider's pages, such as \"da en\"", .parameter)
        case .parameters: ("other parameters, such as access_type=offline&hd=example.com", .parameter)
        case .method: ("the way to sign in, as in \"vault register --method\"", .choice(SignInChoice.allValueStrings))
        case .privateBrowser: ("yes: sign in with a private browser window (default: no)", .choice("yes", "no"))
        case .backendFile:
            ("a JSON file with the paths and field names of a backend", .checked { _ = try BackendLayout(file: $0) })
        case .dpop: ("off: do not bind tokens to a key (default: auto)", .choice("auto", "off"))
        case .offlineMaxAge: ("days that an account opens without the network (default: 14)", .number(0...3650, .days))
        case .connectTimeout:
            (
                "seconds to wait for a connection, 1 to 60 (default: 10)",
                .number(1...TimeLimits.longest.connect, .seconds)
            )
        case .providerTimeout:
            (
                "seconds to wait for the provider, 1 to 600 (default: 30)",
                .number(1...TimeLimits.longest.answer, .seconds)
            )
        case .keyServiceTimeout:
            (
                "seconds to wait for the service, 1 to 600 (default: 30)",
                .number(1...TimeLimits.longest.answer, .seconds)
            )
        case .displayClaims: ("ID token claims to show in \"vault users\", stored unsealed", .text)
        case .pkcs11: ("the URI of the usual PKCS#11 token, also with module-path", .checked(Self.requireTokenURI))
        case .tpm2: ("the address of the usual TPM (default: device:/dev/tpmrm0)", .text)
        case .user: ("the account that commands use without --user", .text)
        case .agent: ("off: no session stays open after a command (default: on)", .choice("on", "off"))
        case .openSession:
            ("yes: a command that had to ask for a secret keeps a session open (default: no)", .choice("yes", "no"))
        case .idleTimeout: ("minutes without use before a lock, 0: never (default: 15)", .number(0...10_000, .minutes))
        case .sessionLifetime: ("hours before a lock in any case, 0: never (default: 12)", .number(0...10_000, .hours))
        case .exclusive: ("yes: a login locks all other accounts in the agent (default: no)", .choice("yes", "no"))
        case .devices:
            ("on: a login sends a token to the key service to list this machine (default: off)", .choice("on", "off"))
        case .pinentry: ("the program that asks in a window (default: pinentry)", .text)
        case .home: ("the folder of the store", .text)
        case .allowFUSE: ("yes: allow a store on a FUSE file system (default: no)", .choice("yes", "no"))
        case .settingsKey:
            ("the key that signs the settings of your organisation, as minisign prints it", .checked(Self.requireKey))
        case .settingsSignedAt:
            ("when your organisation signed its settings; vault refuses older ones", .checked(Self.requireTime))
        }
    }

    private static func requireKeys(_ value: String) throws {
        let keys = value.split(separator: " ").map(String.init)
        guard (1...2).contains(keys.count), keys.allSatisfy({ Signature.publicKey($0) != nil }) else {
            throw VaultError(
                .configurationInvalid,
                "key-service-keys has to be one or two keys with a space between them, as \"vault-key-service identity show\" prints them."
            )
        }
    }

    private static func requireKey(_ value: String) throws {
        guard MinisignKey(value) != nil else {
            throw VaultError(
                .configurationInvalid,
                "settings-key has to be a public key of minisign: 56 characters that begin with RW.")
        }
    }

    private static func requireTime(_ value: String) throws {
        guard Self.time(value) != nil else {
            throw VaultError(
                .configurationInvalid, "settings-signed-at has to be a time such as 2026-11-22T18:34:23Z.")
        }
    }

    /// The time that a value means (RFC 3339); nil if it means none.
    static func time(_ value: String) -> Date? { try? Date(value, strategy: Date.ISO8601FormatStyle()) }

    private static func requireCertificates(_ path: String) throws {
        do {
            try CertificateFile(path: path).check()
        } catch let failure as CertificateFile.Failure {
            throw VaultError(.configurationInvalid, failure.description, underlying: failure)
        }
    }

    private static func requireTokenURI(_ value: String) throws {
        guard !value.contains("pin-value"), !value.contains("pin-source") else {
            throw VaultError(.configurationInvalid, "Leave the PIN out of the settings.")
        }
        guard value.hasPrefix("pkcs11:") else {
            throw VaultError(
                .configurationInvalid, "pkcs11 is the URI of a token, such as pkcs11:token=label, and not \(value).")
        }
    }
}
