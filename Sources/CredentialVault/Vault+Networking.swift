#if Networking
    public import VaultBase
    @_exported public import VaultNetworking

    extension Vault {
        /// Opens the store and connects the parts of the vault. No network is used yet. Needs the package trait
        /// Networking, which is on by default.
        ///
        /// - Parameters:
        ///   - configuration: the settings.
        ///   - store: the store; nil for SQLite in the configured folder.
        ///   - keyService: the key service; nil for HTTP to the key service that each account was registered with.
        ///   - oprfKeyService: the same key service with protocol version 2. Nil for HTTP, or for none if
        ///     `keyService` is not nil. If it is also a `DeviceListService`, the vault uses its lists of devices.
        ///   - transport: sends the HTTP requests; nil for async-http-client.
        ///   - clock: the wall clock.
        ///   - issuers: the app's own kinds of servers, in addition to OpenID providers and ``Backends``.
        /// - Throws: `VaultError` with code `storeUnreadable` or `busy` (try again), `storeCorrupt` (restore a backup),
        ///   `configurationInvalid`, also for the machine's policy file (correct the setting), or `unsafeFileSystem`
        ///   (move the store).
        public init(
            _ configuration: VaultConfiguration, store: (any SecureStore)? = nil, keyService: (any KeyService)? = nil,
            oprfKeyService: (any OPRFKeyService)? = nil, transport: (any HTTPTransport)? = nil,
            clock: any WallClock = SystemWallClock(), issuers: [any IssuerKind] = []
        ) async throws {
            try await self.init(
                configuration, obeying: ObeyedPolicy(configuration.policy, watching: WatchedPolicy()), store: store,
                keyService: keyService, oprfKeyService: oprfKeyService, transport: transport, clock: clock,
                issuers: issuers)
        }

        /// As ``init(_:store:keyService:oprfKeyService:transport:clock:issuers:)``.
        ///
        /// - Parameter machinePolicy: the machine's policy, which does not change; nil if it has none.
        package init(
            _ configuration: VaultConfiguration, machinePolicy: VaultPolicy?, store: (any SecureStore)? = nil,
            keyService: (any KeyService)? = nil, oprfKeyService: (any OPRFKeyService)? = nil,
            transport: (any HTTPTransport)? = nil, clock: any WallClock = SystemWallClock(),
            issuers: [any IssuerKind] = []
        ) async throws {
            try await self.init(
                configuration, obeying: ObeyedPolicy(configuration.policy, machine: machinePolicy), store: store,
                keyService: keyService, oprfKeyService: oprfKeyService, transport: transport, clock: clock,
                issuers: issuers)
        }

        /// As ``init(_:store:keyService:oprfKeyService:transport:clock:issuers:)``.
        ///
        /// - Parameter policy: the policies of the configuration and the machine.
        package init(
            _ configuration: VaultConfiguration, obeying policy: ObeyedPolicy, store: (any SecureStore)? = nil,
            keyService: (any KeyService)? = nil, oprfKeyService: (any OPRFKeyService)? = nil,
            transport: (any HTTPTransport)? = nil, clock: any WallClock = SystemWallClock(),
            issuers: [any IssuerKind] = []
        ) async throws {
            try await self.init(
                configuration, obeying: policy, store: store, keyService: keyService,
                oprfKeyService: oprfKeyService,
                transport: transport
                    ?? AsyncHTTPTransport(
                        certificateFile: configuration.certificateFile,
                        hostCertificateFiles: configuration.hostCertificateFiles),
                listening: LoopbackListening(), clock: clock, issuers: issuers)
        }
    }
#endif
