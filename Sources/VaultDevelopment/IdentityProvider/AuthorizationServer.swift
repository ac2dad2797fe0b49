internal import Crypto
internal import FoundationEssentials
internal import JWTKit

/// What the provider knows and decides, without HTTP. What changes together changes without an `await` in between.
actor AuthorizationServer {
    /// A login page that was shown and not yet answered.
    struct PendingAuthorization {
        var client: Client
        var redirectURI: String
        var state: String?
        var nonce: String?
        var challenge: String
        var scope: [String]
        var loginHint: String?
        /// The key that the tokens will need, if the client has named one (RFC 9449 section 10).
        var keyThumbprint: String?
        var expiresAt: Date
    }

    /// An authorization code (RFC 6749 section 4.1.2).
    struct Code {
        var authorization: PendingAuthorization
        var username: String
        var authenticatedAt: Date
        var expiresAt: Date
        /// The code was used; if it gave tokens, this is their family.
        var used = false
        var family: UUID?
    }

    let options: DevelopmentIdentityProvider.Options
    /// `http://HOST:PORT`; known once the port is.
    private(set) var issuer = ""
    private(set) var requests: [ProviderRequest] = []
    var pending: [String: PendingAuthorization] = [:]
    var pushed: [String: PushedRequest] = [:]
    var codes: [String: Code] = [:]
    var devices: [String: Device] = [:]
    var deviceVisits: [String: DeviceVisit] = [:]
    var state: ProviderState
    /// Hashes of the access tokens that were revoked one by one.
    var revokedAccessTokens: Set<SHA256.Digest> = []
    /// The `jti` of proofs, and how long they must be remembered.
    var seenProofs: [String: Date] = [:]
    /// When ``seenProofs`` is looked through again: not at each of a thousand requests.
    var nextForgetting = Date.distantPast
    /// Newest first; all are accepted.
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

    /// Stores the state as it is now, before anybody learns of it.
    func save() async throws {
        guard let file else { return }
        revision += 1
        try await file.store(JSONEncoder().encode(state), revision: revision)
    }

    /// Forgets what has had its time. Codes are kept longer than they are valid: a replay must be noticed.
    func forgetExpired() {
        let now = options.now()
        pending = pending.filter { $0.value.expiresAt > now }
        pushed = pushed.filter { $0.value.expiresAt > now }
        codes = codes.filter { $0.value.expiresAt.addingTimeInterval(3600) > now }
        devices = devices.filter { $0.value.expiresAt.addingTimeInterval(3600) > now }
        deviceVisits = deviceVisits.filter { devices[$0.value.deviceCode].map { $0.expiresAt > now } ?? false }
    }

    // MARK: Keys

    /// The public keys (RFC 7517).
    func keySet() throws -> KeySet { try KeySet(state.signingKeys) }

    func sign(_ claims: IDTokenClaims) async throws -> String { try await signer.sign(claims) }

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

    /// Revokes a token (RFC 7009): a refresh token with all that came from the same login. Unknown ones are no error.
    func revoke(_ request: ClientRequest) async throws {
        var entry = ProviderRequest(.revocation, .ok)
        do {
            let client = try authenticate(request, entry: &entry)
            guard let text = request.form?["token"] else { throw OAuthError.invalidRequest("token is missing.") }
            if let token = ProviderToken(text, under: tokenKey), isIssued(token, to: client) {
                entry.username = state.families[token.family]?.username
                switch token.kind {
                case .access, .boundAccess: revokedAccessTokens.insert(SHA256.hash(data: Data(text.utf8)))
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

    /// Whose access token this is; nil when it is not valid (any more).
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
