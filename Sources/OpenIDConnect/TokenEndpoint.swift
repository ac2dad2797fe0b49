internal import FoundationEssentials
internal import HTTPTypes
internal import VaultHTTP
internal import VaultJSON

/// The token endpoint (RFC 6749 sections 4.1.3, 4.3, 5 and 6, RFC 8628 section 3.4).
struct TokenEndpoint: Sendable {
    /// What is handed in. It does not print it.
    enum Grant: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        case authorizationCode(String, redirectURI: String, verifier: String)
        case refreshToken(String)
        case deviceCode(String)
        case password(String, username: String, scopes: [String])

        var description: String {
            switch self {
            case .authorizationCode: "Grant(authorization code)"
            case .refreshToken: "Grant(refresh token)"
            case .deviceCode: "Grant(device code)"
            case .password: "Grant(password)"
            }
        }
        var debugDescription: String { description }
        var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// What came back. The access token is empty when there is none that can be used; the ID token, if there is one, is
    /// not verified yet.
    typealias Answer = (tokens: TokenSet, unverifiedIDToken: String?, status: Int)

    let exchange: DPoPExchange
    let client: ClientAuthentication
    let clock: any WallClock

    /// Exchanges a grant.
    ///
    /// - Parameter dpopKey: what the tokens shall be bound to, or what a refresh token is bound to.
    func redeem(_ grant: Grant, metadata: ProviderMetadata, dpopKey: DPoPKey?) async throws -> Answer {
        var (form, fields) = try client.applied(to: Self.form(of: grant), metadata: metadata)
        fields[.contentType] = "application/x-www-form-urlencoded"
        let sentAt = clock.now
        let answer = try await exchange.send(
            .post, metadata.tokenEndpoint, fields: fields, body: Array(FormParameters.encode(form).utf8), key: dpopKey)
        let json = JSONValue(objectIn: answer.body)
        // Some providers send an error with status 200.
        guard (200..<300).contains(answer.status.code), json?["error"] == nil || json?["access_token"] != nil else {
            throw refusal(of: grant, answer, sent: client.revealing(form, fields))
        }
        guard let json else {
            throw OpenIDConnectError(
                .invalidAnswer, "the token answer is not JSON", status: answer.status.code, mayHaveBeenProcessed: true)
        }
        // Required by the RFC, but to lose a rotated refresh token over its absence would help nobody.
        let type = Self.token(json["token_type"]) ?? "Bearer"
        let tokens = TokenSet(
            accessToken: Self.token(json["access_token"]) ?? "", tokenType: type,
            expiresAt: Self.expiry(json["expires_in"], from: sentAt),
            scope: Self.token(json["scope"]), refreshToken: Self.token(json["refresh_token"]))
        return (tokens, json["id_token"]?.string, answer.status.code)
    }

    /// Says what the tokens are bound to, and refuses those that this client cannot use. To be called when the refresh
    /// token is safe.
    ///
    /// A provider may answer a proof with a Bearer token. The refresh token of a public client is bound to the key all
    /// the same (RFC 9449 section 5).
    static func bind(_ answer: Answer, to key: DPoPKey?) throws -> TokenSet {
        var tokens = answer.tokens
        guard !tokens.accessToken.isEmpty else {
            throw OpenIDConnectError(
                .invalidAnswer, "the token answer has no access token", status: answer.status,
                mayHaveBeenProcessed: true)
        }
        switch (tokens.tokenType.lowercased(), key) {
        case ("bearer", _), ("dpop", _?): tokens.dpopKey = key
        default:
            throw OpenIDConnectError(
                .unsupported, "access tokens of this type", status: answer.status, mayHaveBeenProcessed: true)
        }
        return tokens
    }

    private static let noAccessToken = "the token answer has no access token"

    private static func form(of grant: Grant) -> ProviderConnection.Form {
        switch grant {
        case .authorizationCode(let code, let redirectURI, let verifier):
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
                ("code_verifier", verifier),
            ]
        case .refreshToken(let token): [("grant_type", "refresh_token"), ("refresh_token", token)]
        case .deviceCode(let code): [("grant_type", DeviceAuthorization.grantType), ("device_code", code)]
        case .password(let password, let username, let scopes):
            [
                ("grant_type", "password"), ("username", username), ("password", password),
                ("scope", scopes.joined(separator: " ")),
            ]
        }
    }

    private func refusal(
        of grant: Grant, _ answer: HTTPAnswer, sent form: ProviderConnection.Form
    ) -> OpenIDConnectError {
        let status = answer.status.code
        let error = JSONValue(objectIn: answer.body)?["error"]?.string
        let isDevice = if case .deviceCode = grant { true } else { false }
        // A poll goes by the provider's error code. The status does not matter: some only ask to come later.
        if let outage = ProviderConnection.outage(status), error == nil || !isDevice { return outage }
        let isEmpty = answer.body.isEmpty
        let isRefresh = if case .refreshToken = grant { true } else { false }
        let isPassword = if case .password = grant { true } else { false }
        let code: OpenIDConnectError.Code
        switch error {
        // The person let the time of the device code pass, or it was used.
        case "expired_token" where isDevice, "invalid_grant" where isDevice: code = .deviceCodeExpired
        case "invalid_grant": code = isPassword ? .wrongCredentials : .invalidGrant
        // What Glewlwyd says of a dead refresh token, in its two ways.
        case "invalid_request" where isRefresh: code = .invalidGrant
        case nil where status == 400 && isEmpty && !isPassword: code = isDevice ? .deviceCodeExpired : .invalidGrant
        // Some say nothing at all, and mostly it is this.
        case nil where isPassword && [400, 401, 403].contains(status): code = .wrongCredentials
        case "access_denied": code = .denied
        case "temporarily_unavailable", "server_error": code = .unavailable
        case nil where !(400..<500).contains(status): code = .invalidAnswer
        default: code = .refused
        }
        return ProviderConnection.refusal(answer, as: code, sent: form).processed(code == .unavailable)
    }

    /// A non-empty text of printable ASCII (RFC 6749 appendix A); nil for anything else.
    private static func token(_ value: JSONValue?) -> String? {
        guard let text = value?.string, !text.isEmpty, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        return text
    }

    /// From `expires_in`, a number of seconds or one in quotes. Nil, which is "unknown", when it makes no sense.
    private static func expiry(_ value: JSONValue?, from sentAt: Date) -> Date? {
        guard let seconds = value?.number ?? value?.string.flatMap(Double.init), seconds.isFinite else { return nil }
        // Nothing is issued for a century: more is a time stamp or a mistake. Below zero it is over already.
        guard seconds < 100 * 365 * 86_400 else { return nil }
        return sentAt.addingTimeInterval(max(0, seconds))
    }
}
