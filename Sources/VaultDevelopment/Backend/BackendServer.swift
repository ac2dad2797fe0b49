internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// The state and decisions of the backend, without HTTP. Changes that belong together have no `await` between them.
actor BackendServer {
    typealias User = DevelopmentIdentityProvider.User

    /// An access token or API token, by the digest of its text.
    struct AccessToken {
        var username: String
        /// The expiry time; nil for an API token, or for none.
        var expiresAt: Date?
        /// The session; nil for an API token.
        var session: UUID?
    }

    /// All tokens of one login.
    struct Session {
        var username: String
        /// The OAuth client of the session; nil for none.
        var clientID: String?
        var scope: [String] = []
        var generation = 1
        /// The times of its last refreshes.
        var refreshes: [Date] = []
        var createdAt: Date
        /// The position in the list. Sessions are listed in the order of their start.
        var order: Int
    }

    /// A refresh token, by the digest of its text. A used one is kept, to notice a replay.
    struct RefreshToken {
        var session: UUID
        var generation: Int
        var expiresAt: Date
    }

    let options: DevelopmentBackend.Options
    let faults = FaultInjector()
    private(set) var origin = ""
    private(set) var requests: [BackendRequest] = []
    private(set) var features: [String]?
    /// The users of the options and of later sign-ups.
    var users: [User]
    var accessTokens: [Data: AccessToken] = [:]
    var refreshTokens: [Data: RefreshToken] = [:]
    var sessions: [UUID: Session] = [:]
    var pendingLogins: [String: PendingLogin] = [:]
    var codes: [String: Code] = [:]
    var clients: [String: OAuthClient] = [:]
    /// The devices that wait for a person, by their device codes.
    var devices: [String: Device] = [:]
    var failures: [String: Failures] = [:]
    var items = ["first", "second"]
    private var sessionCount = 0
    private let signingKey = SymmetricKey(size: .bits256)

    init(options: DevelopmentBackend.Options) {
        self.options = options
        features = options.features
        users = options.users
    }

    /// Begins a session.
    func newSession(of username: String, clientID: String? = nil, scope: [String] = []) -> UUID {
        let id = UUID()
        sessionCount += 1
        sessions[id] = Session(
            username: username, clientID: clientID, scope: scope, createdAt: options.now(), order: sessionCount)
        return id
    }

    func setOrigin(_ origin: String) { self.origin = origin }

    func log(_ request: BackendRequest) { requests.append(request) }

    func clearLog() { requests = [] }

    func setFeatures(_ features: [String]?) { self.features = features }

    func forgetClients() { clients = [:] }

    func invalidateAccessTokens() { accessTokens = accessTokens.filter { $0.value.session == nil } }

    func endAllSessions() {
        accessTokens = [:]
        refreshTokens = [:]
        sessions = [:]
    }

    // MARK: Tokens

    /// Stores an access token, to recognise it later.
    /// - Parameter lifetime: The lifetime in seconds; nil for no expiry.
    func newAccessToken(_ text: String, session: UUID, lifetime: Int?) {
        guard let username = sessions[session]?.username else { return }
        accessTokens[digest(text)] = AccessToken(
            username: username, expiresAt: lifetime.map { options.now().addingTimeInterval(Double($0)) },
            session: session)
    }

    func newRefreshToken(_ text: String, session: UUID) {
        guard let generation = sessions[session]?.generation else { return }
        refreshTokens[digest(text)] = RefreshToken(
            session: session, generation: generation,
            expiresAt: options.now().addingTimeInterval(Double(options.refreshTokenLifetime)))
    }

    /// Uses up a refresh token. A second use ends its session (RFC 9700 section 4.14.2). Without a client, it ends all
    /// such sessions of the person.
    func useRefreshToken(_ text: String, clientID: String?) throws(BackendError) -> UUID {
        var refusal = BackendError("The refresh token is not valid.", status: 401, outcome: "invalid_grant")
        guard let token = refreshTokens[digest(text)], let session = sessions[token.session],
            session.clientID == clientID
        else { throw refusal }
        refusal.username = session.username
        refusal.presentedGeneration = token.generation
        guard token.generation == session.generation else {
            end(token.session)
            if clientID == nil { endSessions(of: session.username) }
            refusal.outcome = .reusedRefreshToken
            throw refusal
        }
        guard token.expiresAt > options.now() else { throw refusal }
        sessions[token.session]?.generation += 1
        return token.session
    }

    func end(_ session: UUID) {
        sessions[session] = nil
        accessTokens = accessTokens.filter { $0.value.session != session }
    }

    /// Ends a person's sessions that have no OAuth client.
    private func endSessions(of username: String) {
        for (id, session) in sessions where session.username == username && session.clientID == nil { end(id) }
    }

    /// Returns the person of a valid token.
    func user(bearing token: String?) throws(BackendError) -> User {
        guard let token, let access = accessTokens[digest(token)],
            access.expiresAt.map({ $0 > options.now() }) ?? true,
            let user = users.first(where: { $0.username == access.username })
        else { throw .invalidToken }
        return user
    }

    /// Makes a JSON Web Token about a user (RFC 7519), signed with HS256. Only this backend can check it.
    func jsonWebToken(for user: User) throws -> String {
        struct Claims: Encodable {
            var sub: String
            var email: String
            var iat: Int
            var exp: Int
            var jti: String
        }
        let now = Int(options.now().timeIntervalSince1970)
        let claims = Claims(
            sub: user.subject, email: user.email, iat: now, exp: now + options.accessTokenLifetime,
            jti: UUID().uuidString)
        let header = Base64URL.encode(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
        let signed = "\(header).\(Base64URL.encode(try JSONEncoder().encode(claims)))"
        let signature = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: signingKey)
        return "\(signed).\(Base64URL.encode(Data(signature)))"
    }
}
