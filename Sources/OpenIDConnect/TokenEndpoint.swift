internal import FoundationEssentials
internal import HTTPTypes
internal import VaultHTTP

/// The token endpoint (RFC 6749 sections 4.1.3, 5 and 6), for a public client.
struct TokenEndpoint: Sendable {
    /// What is handed in.
    enum Grant: Sendable {
        case authorizationCode(String, redirectURI: String, verifier: String)
        case refreshToken(String)
    }

    let connection: ProviderConnection
    let clientID: String
    let clock: any WallClock

    /// Exchanges a grant. The ID token, if one came, is returned unverified beside the rest.
    func exchange(_ grant: Grant, at url: String) async throws -> (
        tokens: TokenSet, unverifiedIDToken: String?, status: Int
    ) {
        let form: [(name: String, value: String)] =
            switch grant {
            case .authorizationCode(let code, let redirectURI, let verifier):
                [
                    ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
                    ("client_id", clientID), ("code_verifier", verifier),
                ]
            case .refreshToken(let token):
                [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", clientID)]
            }
        let sentAt = clock.now
        let answer = try await connection.post(url, form: form)
        let json = JSONValue(objectIn: answer.body)
        // Some providers send an error with status 200.
        guard (200..<300).contains(answer.status.code), json?["error"] == nil || json?["access_token"] != nil else {
            throw refusal(of: grant, status: answer.status.code, json: json, isEmpty: answer.body.isEmpty)
        }
        guard let json, let accessToken = Self.token(json["access_token"]) else {
            throw OpenIDConnectError(
                .invalidAnswer, json == nil ? "the token answer is not JSON" : "the token answer has no access token",
                status: answer.status.code, mayHaveBeenProcessed: true)
        }
        // Required by the RFC, but to lose a rotated refresh token over its absence would help nobody.
        let type = Self.token(json["token_type"]) ?? "Bearer"
        let tokens = TokenSet(
            accessToken: accessToken, tokenType: type, expiresAt: Self.expiry(json["expires_in"], from: sentAt),
            scope: Self.token(json["scope"]), refreshToken: Self.token(json["refresh_token"]))
        return (tokens, json["id_token"]?.string, answer.status.code)
    }

    /// Refuses access tokens that are used in another way than RFC 6750's. To be called when the refresh token is safe.
    static func requireBearer(_ tokens: TokenSet, status: Int) throws {
        guard tokens.tokenType.lowercased() == "bearer" else {
            throw OpenIDConnectError(
                .unsupported, "access tokens other than Bearer", status: status, mayHaveBeenProcessed: true)
        }
    }

    private func refusal(of grant: Grant, status: Int, json: JSONValue?, isEmpty: Bool) -> OpenIDConnectError {
        if let outage = ProviderConnection.outage(status) { return outage }
        let error = json?["error"]?.string
        let isRefresh = if case .refreshToken = grant { true } else { false }
        let code: OpenIDConnectError.Code
        switch error {
        case "invalid_grant": code = .invalidGrant
        // What Glewlwyd says of a dead refresh token, in its two ways.
        case "invalid_request" where isRefresh: code = .invalidGrant
        case nil where status == 400 && isEmpty: code = .invalidGrant
        case "access_denied": code = .denied
        case "temporarily_unavailable", "server_error": code = .unavailable
        case nil where !(400..<500).contains(status): code = .invalidAnswer
        default: code = .refused
        }
        return OpenIDConnectError(
            code, "HTTP \(status)", status: status, providerError: error,
            providerDescription: json?["error_description"]?.string, mayHaveBeenProcessed: code == .unavailable)
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
