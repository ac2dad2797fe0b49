internal import Crypto
internal import FoundationEssentials

/// The state and decisions of the provider, without HTTP. Changes that belong together have no `await` between them.
actor AuthorizationServer {
    /// A login page without an answer yet.
    struct PendingAuthorization {
        var client: Client
        var redirectURI: String
        var state: String?
        var nonce: String?
        var challenge: String
        var scope: [String]
        var loginHint: String?
        /// The key for the tokens, if the client has named one (RFC 9449 section 10).
        var keyThumbprint: String?
        var expiresAt: Date
    }

    /// An authorization code (RFC 6749 section 4.1.2).
    struct Code {
        var authorization: PendingAuthorization
        var username: String
        var authenticatedAt: Date
        var expiresAt: Date
        /// Whether the code was used. If it gave tokens, the next member is their family.
        var used = false
        var family: UUID?
    }

    let options: DevelopmentIdentityProvider.Options
    /// The issuer, `http://HOST:PORT`. It is known after the port.
    private(set) var issuer = ""
    private(set) var requests: [ProviderRequest] = []
    var pending: [String: PendingAuthorization] = [:]
    var pushed: [String: PushedRequest] = [:]
    var codes: [String: Code] = [:]
    var devices: [String: Device] = [:]
    var deviceVisits: [String: DeviceVisit] = [:]
    var state: ProviderState
    var revokedAccessTokens: Set<SHA256.Digest> = []
    /// The `jti` of proofs, and the times until which they must be remembered.
    var seenProofs: [String: Date] = [:]
    /// The time of the next search through ``seenProofs``, as a search at each request would be slow.
    var nextForgetting = Date.distantPast
    /// The accepted nonces, newest first.
    var dpopNonces = [randomIdentifier()]
    let faults = FaultInjector()

    private let file: ProviderStateFile?
    private var revision = 0
    private var signer: IDTokenSigner

    init(options: DevelopmentIdentityProvider.Options) async throws {
        self.options = options
        file = options.stateFile.map(ProviderStateFile.init(path:))
        let stored = try await file?.load()
        state = stored ?? ProviderState()
        signer = try await IDTokenSigner(state.signingKeys[0])
        if stored == nil { try await save() }
    }

    func setIssuer(_ issuer: String) { self.issuer = issuer }

    func log(_ request: ProviderRequest) { requests.append(request) }

    func clearLog() { requests = [] }

    var tokenKey: SymmetricKey { SymmetricKey(data: state.tokenKey) }

    /// Stores the present state, before any answer depends on it.
    func save() async throws {
        guard let file else { return }
        revision += 1
        try await file.store(JSONEncoder().encode(state), revision: revision)
    }

    /// Forgets expired things. Codes are kept longer than they are valid, to notice a replay.
    func forgetExpired() {
        let now = options.now()
        pending = pending.filter { $0.value.expiresAt > now }
        pushed = pushed.filter { $0.value.expiresAt > now }
        codes = codes.filter { $0.value.expiresAt.addingTimeInterval(3600) > now }
        devices = devices.filter { $0.value.expiresAt.addingTimeInterval(3600) > now }
        deviceVisits = deviceVisits.filter { devices[$0.value.deviceCode].map { $0.expiresAt > now } ?? false }
    }

    // MARK: Keys

    /// Returns the public keys (RFC 7517).
    func keySet() throws -> KeySet { try KeySet(state.signingKeys) }

    func sign(_ claims: IDTokenClaims) async throws -> String { try await signer.sign(claims) }

    func sign(_ claims: AccessTokenClaims) async throws -> String { try await signer.sign(claims) }

    func rotateSigningKey(keepingOld: Bool) async throws {
        let key = ProviderState.SigningKey()
        let signer = try await IDTokenSigner(key)
        state.signingKeys = [key] + (keepingOld ? state.signingKeys : [])
        self.signer = signer
        try await save()
    }

    // MARK: Revocation

    func revokeAllRefreshTokens() async throws {
        state.families = [:]
        try await save()
    }

    func invalidateAccessTokens() async throws {
        state.accessEpoch += 1
        try await save()
    }

    /// Revokes a token (RFC 7009). A refresh token takes all tokens of its login with it. An unknown token is not an
    /// error.
    func revoke(_ request: ClientRequest) async throws {
        var entry = ProviderRequest(.revocation, .ok)
        do {
            let client = try authenticate(request, entry: &entry)
            guard let text = request.form?["token"] else { throw OAuthError.invalidRequest("token is missing.") }
            if let token = ProviderToken(text, under: tokenKey), isIssued(token, to: client) {
                entry.username = state.families[token.family]?.username
                switch token.kind {
                case .access, .boundAccess, .restrictedAccess:
                    revokedAccessTokens.insert(SHA256.hash(data: Data(text.utf8)))
                case .refresh:
                    entry.presentedGeneration = Int(token.number)
                    if state.families.removeValue(forKey: token.family) != nil { try await save() }
                }
            }
        } catch let error as OAuthError {
            entry.outcome = error.outcome
            log(entry)
            throw error
        }
        log(entry)
    }

    /// Whether this client got the token, as far as the provider still knows.
    func isIssued(_ token: ProviderToken, to client: Client) -> Bool {
        guard let family = state.families[token.family] else { return true }
        return (family.clientID ?? options.clientID) == client.identifier
    }

    // MARK: UserInfo

    /// Returns the person of an access token; nil if it is not valid.
    func access(
        _ token: ProviderToken, _ text: String
    ) -> (user: DevelopmentIdentityProvider.User, login: ProviderState.Family)? {
        guard token.kind != .refresh, token.epoch == state.accessEpoch,
            Double(token.expiry) > options.now().timeIntervalSince1970,
            !revokedAccessTokens.contains(SHA256.hash(data: Data(text.utf8))),
            let login = state.families[token.family], let user = options.user(named: login.username)
        else { return nil }
        return (user, login)
    }
}
