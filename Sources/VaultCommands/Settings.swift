internal import Configuration
internal import CredentialVault
internal import Foundation
internal import SystemPackage

/// The settings in force: options over the environment (`CREDENTIAL_VAULT_*`) over the configuration file.
struct Settings {
    /// One setting, by its name in the file. In the environment it is in capitals behind `CREDENTIAL_VAULT_`.
    enum Name: String, CaseIterable {
        case issuer
        case clientID = "client-id"
        case clientSecretFile = "client-secret-file"
        case keyService = "key-service"
        case caFile = "ca-file"
        case scopes
        case redirectURI = "redirect-uri"
        case prompt
        case acrValues = "acr-values"
        case audience
        case uiLocales = "ui-locales"
        case parameters
        case method
        case backendFile = "backend-file"
        case dpop
        case offlineMaxAge = "offline-max-age"
        case connectTimeout = "connect-timeout"
        case providerTimeout = "provider-timeout"
        case keyServiceTimeout = "key-service-timeout"
        case displayClaims = "display-claims"
        case pkcs11
        case tpm2
        case agent
        case idleTimeout = "idle-timeout"
        case sessionLifetime = "session-lifetime"
        case exclusive
        case pinentry
        case home
        case allowFUSE = "allow-fuse"

        var help: String {
            switch self {
            case .issuer: "the identity provider's issuer URL, or the base URL of a backend or server"
            case .clientID: "the client id at the identity provider; without one, a client is registered"
            case .clientSecretFile:
                "a file with the secret of that client, where it has one; only you may read the file"
            case .keyService: "the key service's base URL"
            case .caFile: "a file of certificate authorities (PEM) to trust besides the system's"
            case .scopes: "the scopes to ask for, with spaces between them"
            case .redirectURI: "where the provider sends the browser back to"
            case .prompt: "what the provider shows at a sign-in: login, consent, select_account or none"
            case .acrValues: "how a person should prove who they are, with spaces between the values"
            case .audience: "the API that the access tokens are for, where the provider wants to know it"
            case .uiLocales: "the languages of the provider's pages, with spaces between them"
            case .parameters: "other parameters of a sign-in, such as access_type=offline&hd=example.com"
            case .method: "how register signs in: \(SignInWay.allValueStrings.joined(separator: ", "))"
            case .backendFile: "a JSON file with a backend's paths and field names, where they are not the usual ones"
            case .dpop: "auto, or off to bind no tokens to a key"
            case .offlineMaxAge: "for how many days after it was online last an account opens without the network; 14"
            case .connectTimeout: "for how many seconds to wait for a connection, 1 to 60; 10"
            case .providerTimeout: "for how many seconds to wait for the identity provider or backend, 1 to 600; 30"
            case .keyServiceTimeout: "for how many seconds to wait for the key service, 1 to 600; 30"
            case .displayClaims:
                "claims of the ID token for \"vault users\", with spaces between; stored unsealed; an empty value removes them at the next login"
            case .pkcs11: "which PKCS#11 token is meant unless another one is named: its URI, also with module-path"
            case .tpm2: "how the TPM is reached unless another one is named; device:/dev/tpmrm0"
            case .agent: "on, or off so that no session stays open after a command"
            case .idleTimeout: "after how many minutes without use the agent locks a session, 0 for never; 15"
            case .sessionLifetime: "after how many hours the agent locks a session in any case, 0 for never; 12"
            case .exclusive: "yes, so that a login locks the sessions of all other accounts in the agent; no"
            case .pinentry:
                "the program that asks for a password in a window, where there is a display and no terminal; pinentry"
            case .home: "the folder of the store"
            case .allowFUSE: "yes, to keep the store on a FUSE file system that only this machine uses; no"
            }
        }

        /// The variable of the environment: `CREDENTIAL_VAULT_CLIENT_ID` and the like.
        var variable: String { "CREDENTIAL_VAULT_" + rawValue.uppercased().replacing("-", with: "_") }

        /// Refuses what could never work. An empty value is none.
        func validate(_ value: String) throws {
            guard !value.isEmpty else { return }
            switch self {
            case .method:
                guard SignInWay(named: value) == nil else { return }
                throw VaultError(
                    .configurationInvalid,
                    "method has to be one of \(SignInWay.allValueStrings.joined(separator: ", ")), and not \(value)."
                )
            case .dpop:
                guard value != "auto", value != "off" else { return }
                throw VaultError(.configurationInvalid, "dpop has to be auto or off, and not \(value).")
            case .allowFUSE, .exclusive: _ = try isYes(value)
            case .agent: _ = try isOn(value)
            case .idleTimeout, .sessionLifetime: _ = try limit(value)
            case .offlineMaxAge: _ = try Self.days(value)
            case .connectTimeout, .providerTimeout, .keyServiceTimeout: _ = try seconds(value)
            case .backendFile: _ = try BackendLayout(file: value)
            case .issuer, .keyService: try validate(url: value)
            case .caFile: try Self.validate(certificates: value)
            case .clientSecretFile: _ = try ClientSecretFile(path: value).read()
            case .prompt, .acrValues, .audience, .uiLocales, .parameters:
                _ = try Settings.parameters { $0 == self ? value : nil }.checked()
            case .pkcs11: try Self.validate(uri: value)
            default: break
            }
        }

        func isYes(_ value: String) throws -> Bool { try isFirst(of: "yes", "no", value) }

        func isOn(_ value: String) throws -> Bool { try isFirst(of: "on", "off", value) }

        private func isFirst(of first: String, _ second: String, _ value: String) throws -> Bool {
            guard value == first || value == second else {
                throw VaultError(
                    .configurationInvalid, "\(rawValue) has to be \(first) or \(second), and not \(value).")
            }
            return value == first
        }

        /// A limit for a session in the agent, in seconds; 0 for none.
        func limit(_ value: String) throws -> UInt32 {
            let (unit, seconds) = self == .idleTimeout ? ("minutes", 60) : ("hours", 3600)
            guard let number = Int(value), (0...10_000).contains(number) else {
                throw VaultError(
                    .configurationInvalid, "\(rawValue) is a number of \(unit), 0 to 10000, and not \(value).")
            }
            return UInt32(number * seconds)
        }

        /// The value as it is stored: a file is found from any folder.
        func stored(_ value: String) -> String {
            [.caFile, .clientSecretFile].contains(self) && !value.isEmpty
                ? URL(fileURLWithPath: value).standardizedFileURL.path : value
        }

        private static func validate(certificates path: String) throws {
            do {
                try CertificateFile(path: path).check()
            } catch let failure as CertificateFile.Failure {
                throw VaultError(.configurationInvalid, failure.description, underlying: failure)
            }
        }

        static func days(_ value: String) throws -> Duration {
            guard let days = Int(value), (0...3650).contains(days) else {
                throw VaultError(
                    .configurationInvalid, "offline-max-age is a number of days, 0 to 3650, and not \(value).")
            }
            return .seconds(days * 86_400)
        }

        /// The time limit that a value says.
        func seconds(_ value: String) throws -> Duration {
            let longest = self == .connectTimeout ? TimeLimits.longest.connect : TimeLimits.longest.answer
            guard let seconds = Int(value), (1...longest).contains(seconds) else {
                throw VaultError(
                    .configurationInvalid,
                    "\(rawValue) is a number of seconds, 1 to \(longest), and not \(value). To correct it: vault config set \(rawValue) SECONDS"
                )
            }
            return .seconds(seconds)
        }

        private static func validate(uri value: String) throws {
            guard !value.contains("pin-value"), !value.contains("pin-source") else {
                throw VaultError(.configurationInvalid, "A PIN does not belong into the settings: leave it out.")
            }
            guard value.hasPrefix("pkcs11:") else {
                throw VaultError(
                    .configurationInvalid,
                    "pkcs11 is the URI of a token, such as pkcs11:token=label, and not \(value).")
            }
        }

        private func validate(url value: String) throws {
            let url = URLComponents(string: value)
            let isLocal = ["127.0.0.1", "localhost", "[::1]", "::1"].contains(url?.host ?? "")
            guard url?.host?.isEmpty == false, url?.scheme == "https" || url?.scheme == "http" && isLocal else {
                throw VaultError(
                    .configurationInvalid, "\(rawValue) has to be an https URL (plain http only works on this machine)."
                )
            }
        }
    }

    private let reader: ConfigReader
    /// Where `reader` looks, in this order.
    private let providers: [any ConfigProvider]
    private let options: GlobalOptions?

    /// - Parameter more: what further options say, by the setting that they go before.
    init(_ options: GlobalOptions? = nil, more: [Name: String?] = [:]) async throws {
        self.options = options
        let flags: [Name: String?] = [
            .issuer: options?.issuer, .clientID: options?.clientID, .keyService: options?.keyService,
            .caFile: options?.caFile,
        ].merging(more) { $1 }
        let given = flags.compactMap { name, value in
            value.map { (AbsoluteConfigKey([name.rawValue]), ConfigValue(stringLiteral: $0)) }
        }
        var providers: [any ConfigProvider] = [
            InMemoryProvider(name: "options", values: Dictionary(uniqueKeysWithValues: given)),
            EnvironmentVariablesProvider().prefixKeys(with: ["credential", "vault"]),
        ]
        // Most people have no file, and the parser need not start for them.
        if FileManager.default.fileExists(atPath: Self.path) {
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(Self.path)))
            } catch {
                throw VaultError(
                    .configurationInvalid, "The configuration file \(Self.path) is not readable JSON.",
                    underlying: error)
            }
        }
        reader = ConfigReader(providers: providers)
        self.providers = providers
    }

    /// The value in force, or nil.
    subscript(name: Name) -> String? { Self.value(of: name, in: reader) }

    private static func value(of name: Name, in reader: ConfigReader) -> String? {
        reader.string(forKey: ConfigKey([name.rawValue])).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The file with the secret of the client in force. A secret is for the issuer and the client id that stand beside
    /// it: when an option or the environment names another issuer or client, a secret from further down is sent to nobody.
    var clientSecretFile: String? {
        guard let path = self[.clientSecretFile] else { return nil }
        for start in providers.indices {
            guard Self.value(of: .clientSecretFile, in: ConfigReader(providers: [providers[start]])) == path else {
                continue
            }
            let beside = ConfigReader(providers: Array(providers[start...]))
            let isForClient = [Name.issuer, .clientID].allSatisfy { Self.value(of: $0, in: beside) == self[$0] }
            return isForClient ? path : nil
        }
        return nil
    }

    /// The certificate authorities to trust besides those of the system.
    var certificateFile: CertificateFile? {
        guard let path = self[.caFile] else { return nil }
        let removal =
            if options?.caFile?.isEmpty == false {
                "leave out --ca-file"
            } else if ProcessInfo.processInfo.environment[Name.caFile.variable]?.isEmpty == false {
                "unset \(Name.caFile.variable)"
            } else {
                "vault config set ca-file ''"
            }
        return CertificateFile(path: path, removal: removal)
    }

    /// - Throws: `VaultError` with code `configurationInvalid`, which says which setting is wrong.
    func configuration() throws -> VaultConfiguration {
        var configuration = VaultConfiguration(
            issuer: self[.issuer], clientID: self[.clientID], keyServiceURL: self[.keyService],
            scopes: self[.scopes].map { $0.split(separator: " ").map(String.init) }
                ?? VaultConfiguration.standardScopes,
            redirectURI: self[.redirectURI], folder: self[.home])
        if let dpop = self[.dpop] {
            try Name.dpop.validate(dpop)
            configuration.usesDPoP = dpop != "off"
        }
        if let value = self[.allowFUSE] { configuration.allowsFUSE = try Name.allowFUSE.isYes(value) }
        configuration.certificateFile = certificateFile
        configuration.limits = try limits()
        configuration.displayClaims = self[.displayClaims].map {
            $0 == "none" ? [] : $0.split(separator: " ").map(String.init)
        }
        if let days = self[.offlineMaxAge] { configuration.offlineMaximumAge = try Name.days(days) }
        if let file = self[.backendFile] {
            do {
                configuration.backend = try BackendLayout(file: file)
            } catch let error as VaultError {
                configuration.backendProblem = error
            }
        }
        return configuration
    }

    private func limits() throws -> TimeLimits {
        var limits = TimeLimits()
        if let value = self[.connectTimeout] { limits.connect = try Name.connectTimeout.seconds(value) }
        if let value = self[.providerTimeout] { limits.identityProvider = try Name.providerTimeout.seconds(value) }
        if let value = self[.keyServiceTimeout] { limits.keyService = try Name.keyServiceTimeout.seconds(value) }
        return limits
    }

    /// How to sign in where no option says it.
    var way: SignInWay? {
        get throws {
            guard let name = self[.method] else { return nil }
            try Name.method.validate(name)
            return SignInWay(named: name)
        }
    }

    // MARK: - The file

    /// `$XDG_CONFIG_HOME/credential-vault/config.json`, by default below `~/.config`.
    static var path: String {
        let base = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (base ?? Vault.homeFolder + "/.config") + "/credential-vault/config.json"
    }

    /// Writes one setting to the file, or removes it. Others in the file stay as they are.
    static func write(_ name: Name, _ value: String?) throws {
        var content: [String: Any] = [:]
        if FileManager.default.fileExists(atPath: path) {
            guard let data = FileManager.default.contents(atPath: path),
                let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
            else { throw VaultError(.configurationInvalid, "The configuration file \(path) is not readable JSON.") }
            content = object
        }
        content[name.rawValue] = value
        do {
            let folder = (path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let data = try JSONSerialization.data(
                withJSONObject: content, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
            try (data + Data("\n".utf8)).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw VaultError(
                .configurationInvalid, "The configuration file \(path) cannot be written.", underlying: error)
        }
    }
}

extension BackendLayout {
    /// Reads a layout, of which the file has what differs from the usual one.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid`, which says what is wrong with the file.
    init(file path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw VaultError(.configurationInvalid, "The backend file \(path) cannot be read.")
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            let reason =
                switch error as? DecodingError {
                case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context),
                    .keyNotFound(_, let context):
                    (context.codingPath.isEmpty
                        ? "" : context.codingPath.map(\.stringValue).joined(separator: ".") + ": ")
                        + context.debugDescription
                default: "it is no JSON."
                }
            throw VaultError(.configurationInvalid, "The backend file \(path) cannot be used: \(reason)")
        }
    }
}
