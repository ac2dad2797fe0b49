internal import KeyServiceClient
internal import OpenIDConnect
internal import VaultAgent
package import VaultAuth
internal import VaultBackends
package import VaultBase
package import VaultHTTP
package import VaultStorage
internal import VaultUnlock

extension SessionOpener {
    /// Makes the opener of a configuration over an open store. No network is used yet.
    ///
    /// - Parameter policy: the policies of the configuration and the machine.
    /// - Throws: `VaultError` with code `configurationInvalid`: correct the setting.
    package convenience init(
        _ configuration: VaultConfiguration, obeying policy: ObeyedPolicy, store: any SecureStore,
        keyService: (any KeyService)? = nil, oprfKeyService: (any OPRFKeyService)? = nil,
        transport: any HTTPTransport, clock: any WallClock = SystemWallClock(), issuers: [any IssuerKind] = []
    ) throws {
        let (limits, logger) = (try configuration.limits.checked(), configuration.logger)
        var accounts = Accounts(
            store: store, clock: clock, argon2: configuration.argon2,
            offlineCost: configuration.offlineArgon2, offlineMaximumAge: configuration.offlineMaximumAge,
            policy: configuration.policy,
            keyServiceURL: configuration.keyServiceURL ?? "", logger: logger,
            services: .over(
                transport, limits: limits.http(limits.keyService), logger: logger, own: keyService,
                ownOPRF: oprfKeyService))
        accounts.obeyed = policy
        accounts.registersWithoutKeyService = configuration.registersWithoutKeyService
        accounts.newAccountProtocol = configuration.keyServiceProtocol
        accounts.displayClaims = configuration.displayClaims
        accounts.listsDevices = configuration.listsDevices
        accounts.keyServiceAudience = configuration.keyServiceAudience
        let issuerLimits = limits.http(limits.identityProvider)
        let backends = Backends(
            layout: configuration.backend, problem: configuration.backendProblem,
            transport: ProviderTransport(base: transport, limits: issuerLimits, logger: logger), clock: clock)
        let agent = AgentClient(folder: configuration.folder ?? Vault.standardFolder)
        self.init(
            accounts: accounts, issuers: issuers + [backends], usesDPoP: configuration.usesDPoP, limits: issuerLimits,
            transport: transport, agent: agent.attach)
    }
}

extension VaultConfiguration {
    /// The issuer of the accounts that the vault finds; nil for all issuers.
    var issuerOfAccounts: String? { tokenEndpoint?.url ?? issuer }
}

extension Auth.Settings {
    /// - Throws: `VaultError` with code `configurationInvalid`: correct the setting.
    init(_ configuration: VaultConfiguration) throws {
        self.init(
            issuer: configuration.issuerOfAccounts ?? "",
            clientID: configuration.tokenEndpoint?.clientID ?? configuration.clientID, scopes: configuration.scopes,
            redirectURI: configuration.redirectURI, clientName: configuration.clientName)
        let timeLimits = try configuration.limits.checked()
        clientSecret = configuration.clientSecret
        parameters = configuration.signInParameters
        registersAnew = configuration.registersClientAnew
        allowsInsecureHTTP = configuration.allowsInsecureHTTP
        isTokenEndpoint = configuration.tokenEndpoint != nil
        usesDPoP = configuration.usesDPoP
        limits = timeLimits.http(timeLimits.identityProvider)
    }
}
