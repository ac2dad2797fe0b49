internal import Configuration
internal import CredentialVault
internal import Foundation
internal import SystemPackage

/// The settings in force: options over the environment (`CREDENTIAL_VAULT_*`) over the file of the person over the file
/// of the machine.
struct Settings {
    private let reader: ConfigReader
    /// The sources of `reader`, in this order.
    private let providers: [any ConfigProvider]
    /// Where the values of each source come from.
    private let origins: [Origin]
    private let options: GlobalOptions?

    /// - Parameters:
    ///   - more: the values of further options, by the setting that they override.
    ///   - toClose: whether a command needs the settings to close something. An administrator's mistake in the file of
    ///     the machine must not keep a session open.
    init(_ options: GlobalOptions? = nil, more: [Name: String?] = [:], toClose: Bool = false) async throws {
        self.options = options
        let flags: [(key: Name, value: String?)] = [
            (.issuer, options?.issuer), (.clientID, options?.clientID), (.keyService, options?.keyService),
            (.caFile, options?.caFile),
        ]
        var providers: [any ConfigProvider] = [
            Self.provider("options", flags + Array(more)),
            Self.provider("environment", Name.allCases.map { ($0, $0.environmentValue) }),
        ]
        var origins = [Origin.option, .environment]
        // Without a file, the parser need not start.
        if FileManager.default.fileExists(atPath: Self.path) {
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(Self.path)))
                origins.append(.person)
            } catch {
                throw VaultError(
                    .configurationInvalid, "The settings file \(Self.path) is not readable JSON.",
                    underlying: error)
            }
        }
        let machine = toClose ? (try? Self.ofMachine()) ?? [:] : try Self.ofMachine()
        if !machine.isEmpty {
            providers.append(Self.provider("machine", machine.map { ($0, $1) }))
            origins.append(.machine)
        }
        reader = ConfigReader(providers: providers)
        self.providers = providers
        self.origins = origins
    }

    /// Returns a source with these settings. If a setting is there several times, its last value counts.
    private static func provider(_ source: String, _ settings: [(key: Name, value: String?)]) -> InMemoryProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, value) in settings {
            values[AbsoluteConfigKey([name.rawValue])] = value.map { ConfigValue(stringLiteral: $0) }
        }
        return InMemoryProvider(name: source, values: values)
    }

    /// The value in force, or nil.
    subscript(name: Name) -> String? { Self.value(of: name, in: reader) }

    private static func value(of name: Name, in reader: ConfigReader) -> String? {
        reader.string(forKey: ConfigKey([name.rawValue])).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Where a value can come from, the strongest first.
    enum Origin {
        case option, environment, person, machine

        /// The name for a person: `an option`, a variable, or the path of a file.
        func text(_ name: Name) -> String {
            switch self {
            case .option: "an option"
            case .environment: name.variable
            case .person: Settings.path
            case .machine: Settings.machineFile
            }
        }
    }

    /// Where the value in force comes from; nil if there is none.
    func origin(of name: Name) -> Origin? {
        guard let value = self[name] else { return nil }
        return zip(origins, providers).first {
            Self.value(of: name, in: ConfigReader(providers: [$0.1])) == value
        }?.0
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
            } else if Name.caFile.environmentValue?.isEmpty == false {
                "unset \(Name.caFile.variable)"
            } else {
                "vault config set ca-file ''"
            }
        return CertificateFile(path: path, removal: removal)
    }

    /// The only certificate authorities to trust at some hosts.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid`. A wrong value must not mean "trust the usual ones".
    func hostCertificateFiles() throws -> [String: CertificateFile] {
        let name = Name.hostCAFiles
        guard let value = self[name] else { return [:] }
        let isOfEnvironment = name.environmentValue?.isEmpty == false
        let removal = isOfEnvironment ? "unset \(name.variable)" : "vault config set \(name.rawValue) ''"
        let files = try name.hostFiles(value)
        return Dictionary(
            files.map { ($0.host, CertificateFile(path: $0.path, removal: removal)) }, uniquingKeysWith: { $1 })
    }

    /// Makes the transport for requests that no vault sends.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid`, which says which setting is wrong.
    func transport() throws -> AsyncHTTPTransport {
        AsyncHTTPTransport(certificateFile: certificateFile, hostCertificateFiles: try hostCertificateFiles())
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
        if let value = self[.allowFUSE] { configuration.allowsFUSE = try Name.allowFUSE.isOn(value) }
        if let value = self[.devices] { configuration.listsDevices = try Name.devices.isOn(value) }
        if let name = self[.keyServiceAudience] {
            configuration.keyServiceAudience = name == "any" ? .insecureAny : .named(name)
        }
        if let value = self[.keyServiceKeys] {
            try Name.keyServiceKeys.validate(value)
            configuration.policy.keyServiceKeys = Set(value.split(separator: " ").map(String.init))
        }
        if let value = self[.keyServiceProtocol] {
            try Name.keyServiceProtocol.validate(value)
            configuration.keyServiceProtocol = value == "1" ? 1 : 2
        }
        configuration.certificateFile = certificateFile
        configuration.hostCertificateFiles = try hostCertificateFiles()
        configuration.limits = try limits()
        configuration.displayClaims = self[.displayClaims].map {
            $0 == "none" ? [] : $0.split(separator: " ").map(String.init)
        }
        if let days = self[.offlineMaxAge] { configuration.offlineMaximumAge = try Name.offlineMaxAge.duration(days) }
        if let file = self[.backendFile] {
            do {
                configuration.backend = try BackendLayout(file: file)
            } catch let error as VaultError {
                configuration.backendProblem = error
            }
        }
        #if DEBUG || TEST_HOOKS
            // A test that does not look at the cost need not wait for it. A release build has no such variable.
            if ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_CHEAP_ARGON2"] == "1" {
                configuration.argon2 = .insecureForTests
                configuration.offlineArgon2 = .insecureForTests
            }
        #endif
        return configuration
    }

    private func limits() throws -> TimeLimits {
        var limits = TimeLimits()
        if let value = self[.connectTimeout] { limits.connect = try Name.connectTimeout.duration(value) }
        if let value = self[.providerTimeout] { limits.identityProvider = try Name.providerTimeout.duration(value) }
        if let value = self[.keyServiceTimeout] { limits.keyService = try Name.keyServiceTimeout.duration(value) }
        return limits
    }

    /// How to sign in if no option names one.
    var signInChoice: SignInChoice? {
        get throws {
            guard let name = self[.method] else { return nil }
            try Name.method.validate(name)
            return SignInChoice(named: name)
        }
    }
}
