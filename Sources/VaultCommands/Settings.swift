internal import Configuration
internal import CredentialVault
internal import Foundation
internal import SystemPackage
internal import VaultBase

/// The settings in force: options over the environment (`CREDENTIAL_VAULT_*`) over the configuration file.
struct Settings {
    /// One setting, by its name in the file. In the environment it is in capitals behind `CREDENTIAL_VAULT_`.
    enum Name: String, CaseIterable {
        case issuer
        case clientID = "client-id"
        case clientSecretFile = "client-secret-file"
        case keyService = "key-service"
        case keyServiceKeys = "key-service-keys"
        case keyServiceProtocol = "key-service-protocol"
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
        case devices
        case pinentry
        case home
        case allowFUSE = "allow-fuse"

        var help: String {
            switch self {
            case .issuer: "the issuer URL of the identity provider, or the URL of a backend"
            case .clientID: "the client id at the provider (default: vault registers a client)"
            case .clientSecretFile: "a file with the client's secret, which only you may read"
            case .keyService: "the base URL of the key service"
            case .keyServiceKeys: "one or two identity keys of the key service, with a space between"
            case .keyServiceProtocol: "1: a new account may use version 1 of its protocol (default: 2)"
            case .caFile: "a PEM file of further certificate authorities to trust"
            case .scopes: "the scopes of the tokens, with spaces between them"
            case .redirectURI: "the address to which the provider sends the browser back"
            case .prompt: "the provider's page: login, consent, select_account or none"
            case .acrValues: "how the provider should check who you are"
            case .audience: "the API that the access tokens are for"
            case .uiLocales: "the languages of the provider's pages, such as \"da en\""
            case .parameters: "other parameters, such as access_type=offline&hd=example.com"
            case .method: "the way to sign in, as in \"vault register --method\""
            case .backendFile: "a JSON file with the paths and field names of a backend"
            case .dpop: "off: do not bind tokens to a key (default: auto)"
            case .offlineMaxAge: "days that an account opens without the network (default: 14)"
            case .connectTimeout: "seconds to wait for a connection, 1 to 60 (default: 10)"
            case .providerTimeout: "seconds to wait for the provider, 1 to 600 (default: 30)"
            case .keyServiceTimeout: "seconds to wait for the service, 1 to 600 (default: 30)"
            case .displayClaims: "ID token claims to show in \"vault users\", stored unsealed"
            case .pkcs11: "the URI of the usual PKCS#11 token, also with module-path"
            case .tpm2: "the address of the usual TPM (default: device:/dev/tpmrm0)"
            case .agent: "off: no session stays open after a command (default: on)"
            case .idleTimeout: "minutes without use before a lock, 0: never (default: 15)"
            case .sessionLifetime: "hours before a lock in any case, 0: never (default: 12)"
            case .exclusive: "yes: a login locks all other accounts in the agent (default: no)"
            case .devices: "on: a login sends a token to the key service to list this machine (default: off)"
            case .pinentry: "the program that asks in a window (default: pinentry)"
            case .home: "the folder of the store"
            case .allowFUSE: "yes: allow a store on a FUSE file system (default: no)"
            }
        }

        /// The variable of the environment: `CREDENTIAL_VAULT_CLIENT_ID` and the like.
        var variable: String { "CREDENTIAL_VAULT_" + rawValue.uppercased().replacing("-", with: "_") }

        /// Refuses a value that can never work. An empty value removes the setting.
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
            case .agent, .devices: _ = try isOn(value)
            case .idleTimeout, .sessionLifetime: _ = try limit(value)
            case .offlineMaxAge: _ = try Self.days(value)
            case .connectTimeout, .providerTimeout, .keyServiceTimeout: _ = try seconds(value)
            case .keyServiceKeys: _ = try Self.keys(value)
            case .keyServiceProtocol: _ = try Self.version(value)
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

        /// The value to store. The path of a file becomes absolute, so that it works from any folder.
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

        static func keys(_ value: String) throws -> Set<String> {
            let keys = value.split(separator: " ").map(String.init)
            guard (1...2).contains(keys.count), keys.allSatisfy({ ServiceIdentity.publicKey($0) != nil }) else {
                throw VaultError(
                    .configurationInvalid,
                    "key-service-keys has to be one or two keys with a space between them, as \"vault-key-service identity show\" prints them."
                )
            }
            return Set(keys)
        }

        static func version(_ value: String) throws -> Int {
            guard let version = Int(value), (1...2).contains(version) else {
                throw VaultError(
                    .configurationInvalid, "key-service-protocol has to be 1 or 2, and not \(value).")
            }
            return version
        }

        /// The time limit of a value.
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
                throw VaultError(.configurationInvalid, "Leave the PIN out of the settings.")
            }
            guard value.hasPrefix("pkcs11:") else {
                throw VaultError(
                    .configurationInvalid,
                    "pkcs11 is the URI of a token, such as pkcs11:token=label, and not \(value).")
            }
        }

        private func validate(url value: String) throws {
            let url = URLComponents(string: value)
            let isLocal = LoopbackAddress.isLoopback(host: url?.host ?? "")
            guard url?.host?.isEmpty == false, url?.scheme == "https" || url?.scheme == "http" && isLocal else {
                throw VaultError(
                    .configurationInvalid, "\(rawValue) has to be an https URL (plain http only works on this machine)."
                )
            }
        }
    }

    private let reader: ConfigReader
    /// The sources of `reader`, in this order.
    private let providers: [any ConfigProvider]
    private let options: GlobalOptions?

    /// - Parameter more: the values of further options, by the setting that they override.
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
        // Without a file, the parser need not start.
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

    /// The file with the secret of the client in force; nil if there is none for this client. A secret belongs to the
    /// issuer and client id that are set beside it. If an option or the environment names another issuer or client id,
    /// a secret of the file is not used.
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
        if let value = self[.devices] { configuration.listsDevices = try Name.devices.isOn(value) }
        if let value = self[.keyServiceKeys] { configuration.policy.keyServiceKeys = try Name.keys(value) }
        if let value = self[.keyServiceProtocol] { configuration.keyServiceProtocol = try Name.version(value) }
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

    /// The way to sign in if no option names one.
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
    /// Reads a layout. The file has only the differences from the usual layout.
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
                default: "it is not JSON."
                }
            throw VaultError(.configurationInvalid, "The backend file \(path) cannot be used: \(reason)")
        }
    }
}
