#if Networking
    @_exported public import VaultNetworking

    extension Vault {
        /// Opens the store and connects the parts of the vault. No network is used yet. Needs the package trait
        /// Networking, which is on by default.
        ///
        /// - Parameters:
        ///   - configuration: the settings.
        ///   - store: nil for SQLite in the configured folder.
        ///   - keyService: nil for HTTP to the key service that each account was registered with.
        ///   - transport: nil for async-http-client.
        ///   - clock: tells the time.
        ///   - issuers: kinds of servers of the app's own, besides OpenID providers and ``Backends``.
        /// - Throws: `VaultError`: `storeUnreadable`, `storeCorrupt`, `busy`, `configurationInvalid` (also of a policy file
        ///   of the machine's that cannot be used), `unsafeFileSystem`.
        public init(
            _ configuration: VaultConfiguration, store: (any SecureStore)? = nil, keyService: (any KeyService)? = nil,
            transport: (any HTTPTransport)? = nil, clock: any WallClock = SystemWallClock(),
            issuers: [any IssuerKind] = []
        ) async throws {
            try await self.init(
                configuration, machinePolicy: VaultPolicy.ofMachine(), store: store, keyService: keyService,
                transport: transport, clock: clock, issuers: issuers)
        }

        /// As ``init(_:store:keyService:transport:clock:issuers:)``.
        ///
        /// - Parameter machinePolicy: the machine's policy; nil when it has none.
        package init(
            _ configuration: VaultConfiguration, machinePolicy: VaultPolicy?, store: (any SecureStore)? = nil,
            keyService: (any KeyService)? = nil, transport: (any HTTPTransport)? = nil,
            clock: any WallClock = SystemWallClock(), issuers: [any IssuerKind] = []
        ) async throws {
            try await self.init(
                configuration, machinePolicy: machinePolicy, store: store, keyService: keyService,
                transport: transport ?? AsyncHTTPTransport(certificateFile: configuration.certificateFile),
                listening: LoopbackListening(), clock: clock, issuers: issuers)
        }
    }
#endif
