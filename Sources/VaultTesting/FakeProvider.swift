internal import FoundationEssentials
public import OpenIDConnect
public import VaultAuth
public import VaultBase
public import VaultStorage

/// An identity provider without sockets. It signs everybody in at once, and its refresh tokens rotate. A second use of
/// a refresh token ends the login, as with reuse detection (RFC 9700 section 4.14).
///
/// ```swift
/// let token = try await vault.auth.signIn(provider.signIn("alice"))
/// ```
public final class FakeProvider: IssuerKind, AudienceIssuer {
    /// The outcome of the next renewals.
    @nonexhaustive
    public enum Answer: Sendable {
        /// The answer has new tokens.
        case tokens
        /// The refresh token is not valid any more.
        case refusal
        /// No answer comes, and nothing was carried out.
        case outage
    }

    private struct State {
        var answer = Answer.tokens
        /// The valid refresh token of each subject.
        var current: [String: String] = [:]
        var issued = 0
        var renewals = 0
        var scope: String?
        /// Whether it obeys the audience of a renewal.
        var restrictsAudiences = true
        /// The subject of each access token.
        var subjects: [String: String] = [:]
    }

    /// The issuer in the accounts.
    public let issuer: String
    private let clock: any WallClock
    private let lifetime: Double
    private let state = Lock(State())

    /// - Parameters:
    ///   - issuer: the identifier of the provider.
    ///   - clock: the clock for the expiry of its tokens.
    ///   - lifetime: the lifetime of an access token, in seconds.
    public init(
        issuer: String = "https://provider.example", clock: any WallClock = SystemWallClock(), lifetime: Double = 300
    ) {
        self.issuer = issuer
        self.clock = clock
        self.lifetime = lifetime
    }

    /// Sets the outcome of renewals from now on.
    public func answer(with answer: Answer) { state.withLock { $0.answer = answer } }

    /// Sets the scopes that renewals report, separated by spaces; nil to report none.
    public func grant(_ scope: String?) { state.withLock { $0.scope = scope } }

    /// Sets whether access tokens can be for one service alone. If not, the audience of a renewal is ignored.
    public func restrictAudiences(_ restricts: Bool) { state.withLock { $0.restrictsAudiences = restricts } }

    /// The number of refreshes, with failed ones.
    public var renewals: Int { state.withLock { $0.renewals } }

    /// Whether a subject has a valid refresh token.
    public func hasLogin(_ subject: String) -> Bool { state.withLock { $0.current[subject] != nil } }

    /// Returns the account that one of its access tokens speaks for; nil for any other text.
    public func owner(ofAccessToken token: String) -> AccountID? {
        state.withLock { $0.subjects[token] }.map { AccountID(issuer: issuer, subject: $0) }
    }

    /// Makes a sign-in that needs no person.
    ///
    /// - Parameters:
    ///   - subject: the subject of the person.
    ///   - name: the person's name.
    ///   - email: the person's e-mail address.
    ///   - claims: further claims of the ID token.
    public func signIn(
        _ subject: String, name: String? = nil, email: String? = nil, claims: [String: String] = [:]
    ) -> any SignIn {
        FakeSignIn(provider: self, subject: subject, name: name, email: email, claims: claims)
    }

    // MARK: - As an issuer

    /// Tells whether the account is one of this provider.
    public func issues(tokensOf key: IssuerKey) -> Bool { key.issuer == issuer }

    /// Gives this provider, for every account and layout.
    public func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer { self }

    /// Does nothing: there is nothing to fetch.
    public func warmUp() async {}

    /// Exchanges the refresh token for a new access token and a new refresh token, as ``answer(with:)`` decides.
    ///
    /// - Throws: ``OpenIDConnectError``: `unavailable` for an outage, `invalidGrant` for a refusal or a refresh token
    ///   that was used before. Errors of `keep`.
    public func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        let next = try state.withLock { state in
            state.renewals += 1
            switch state.answer {
            case .outage: throw OpenIDConnectError(.unavailable, "the provider is away")
            case .tokens where state.current[id.subject] == credential.value: break
            default:
                state.current[id.subject] = nil
                throw OpenIDConnectError(
                    .invalidGrant, "the refresh token is not valid", providerError: "invalid_grant")
            }
            return Self.issue(&state, to: id.subject)
        }
        var renewed = credential
        renewed.value = next.refresh
        try await keep(renewed)
        return TokenSet(
            accessToken: next.access, expiresAt: clock.now.addingTimeInterval(lifetime),
            scope: state.withLock { $0.scope },
            refreshToken: next.refresh)
    }

    /// Exchanges the refresh token as ``renew(_:of:keep:)``. The access token names its audience, as a signed one does.
    public func renew(
        _ credential: Credential, of id: AccountID, audience: String, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        var tokens = try await renew(credential, of: id, keep: keep)
        let opaque = tokens.accessToken
        tokens.accessToken = state.withLock { state in
            guard state.restrictsAudiences else { return opaque }
            let parts = [["alg": "none"], ["aud": audience, "jti": opaque]].map { Base64URL.encode(Self.json($0)) }
            let token = parts.joined(separator: ".") + "."
            state.subjects[token] = id.subject
            return token
        }
        return tokens
    }

    /// Ends the login if the refresh token is the one that counts now.
    ///
    /// - Throws: ``OpenIDConnectError`` with code `unavailable` for an outage.
    public func revoke(_ credential: Credential, of id: AccountID) async throws {
        try state.withLock { state in
            if case .outage = state.answer { throw OpenIDConnectError(.unavailable, "the provider is away") }
            if state.current[id.subject] == credential.value { state.current[id.subject] = nil }
        }
    }

    fileprivate func token(
        for subject: String, name: String?, email: String?, claims: [String: String]
    ) -> SignInResult {
        let tokens = state.withLock { Self.issue(&$0, to: subject) }
        let now = clock.now
        return SignInResult(
            Credential(value: tokens.refresh), account: AccountID(issuer: issuer, subject: subject), clientID: "app",
            identity: .init(
                email: email, preferredUsername: subject, name: name,
                claimsJSON: Self.json(
                    claims.merging(["sub": subject, "name": name, "email": email].compactMapValues(\.self)) { $1 })),
            accessToken: AccessToken(
                value: tokens.access, tokenType: "Bearer", expiresAt: now.addingTimeInterval(lifetime), scope: nil,
                obtainedAt: now))
    }

    private static func json(_ members: [String: String]) -> [UInt8] {
        Array((try? JSONEncoder().encode(members)) ?? Data("{}".utf8))
    }

    private static func issue(_ state: inout State, to subject: String) -> (refresh: String, access: String) {
        state.issued += 1
        let refresh = "refresh-\(subject)-\(state.issued)"
        state.current[subject] = refresh
        let access = "access-\(subject)-\(state.issued)"
        state.subjects[access] = subject
        return (refresh, access)
    }
}

private struct FakeSignIn: SignIn {
    let provider: FakeProvider
    let subject: String
    let name: String?
    let email: String?
    let claims: [String: String]

    func run(in context: SignInContext) async throws -> SignInResult {
        provider.token(for: subject, name: name, email: email, claims: claims)
    }
}
