internal import Foundation
internal import OpenIDConnect
internal import VaultAuth
internal import VaultBase
internal import VaultStorage

/// A backend that takes passwords and issues refresh tokens.
struct PasswordBackend: UserInfoSource, LogoutListener, BearerRevoker {
    let connection: BackendConnection
    let layout: BackendLayout.Password
    let clock: any WallClock

    // MARK: - Signing in

    /// - Parameter username: the e-mail address that the person typed.
    func signedIn(_ answer: JSONValue, as username: String, at now: Date) async throws -> SignInResult {
        let call = "POST \(layout.login)"
        let tokens = try layout.tokens.signedIn(in: answer, sentAt: now, call: call)
        guard let refreshToken = tokens.refreshToken else {
            throw VaultError.missing("refresh token", layout.tokens.refreshToken, in: call)
        }
        var learned = layout
        learned.refreshToken =
            layout.refreshToken ?? Self.nameInRequests(answer.field(layout.tokens.refreshToken)?.name)
        let user: BackendUser
        if let named = person(in: answer, ids: [layout.userID]) {
            let claimed = subject(of: tokens.accessToken)
            if claimed != nil && claimed != named.id {
                // The backend uses other identifiers in its tokens. It decides who the person is, if it can be asked.
                let asked = try await me(tokens.accessToken)
                if asked == nil { learned.tokenSubject = "" }
                user = asked ?? named
            } else {
                user = named
            }
        } else if let asked = try await me(tokens.accessToken) ?? claimant(of: tokens.accessToken) {
            user = asked
        } else if let named = person(in: answer, ids: [layout.user.alternativeID]) {
            user = named
        } else {
            throw VaultError.missing("identifier of the person", layout.userID, in: call)
        }
        var result = SignInResult(
            Credential(value: refreshToken, scope: tokens.scope),
            account: AccountID(issuer: connection.endpoint.url, subject: user.id), method: .passwordBackend,
            clientID: "", identity: user.identity.named(username),
            accessToken: AccessToken(
                value: tokens.accessToken, tokenType: "Bearer", expiresAt: Self.end(of: tokens), scope: tokens.scope,
                obtainedAt: now))
        result.layout = try BackendLayout(password: learned).stored(for: .passwordBackend)
        return result
    }

    /// The person in the answer of the login. `id` counts only in an object about the person: beside the tokens it may
    /// be the identifier of something else.
    ///
    /// - Parameter ids: more fields with the identifier, also beside the tokens.
    private func person(in answer: JSONValue, ids: [String]) -> BackendUser? {
        let object = answer.object(at: layout.user.object)
        guard let id = object?.identifier(at: [layout.user.id] + ids) ?? answer.identifier(at: ids) else { return nil }
        return BackendUser(id, object ?? answer, layout.user, keepsAll: object != nil)
    }

    /// Returns the backend's name for the refresh token in its requests, from the field of its answer.
    private static func nameInRequests(_ field: String?) -> String {
        let usual = BackendLayout.Tokens().refreshToken
        let name = field?.split(separator: ".").last.map(String.init) ?? usual
        return JSONValue.plain(name) == JSONValue.plain(usual) ? name : usual
    }

    /// Asks the backend for the person of an access token. Nil if the backend has no such call.
    private func me(_ accessToken: String) async throws -> BackendUser? {
        guard !layout.me.isEmpty else { return nil }
        do {
            return try BackendUser(try await connection.get(layout.me, token: accessToken), layout.user)
        } catch let error as OpenIDConnectError where error.status == 404 || error.status == 410 {
            return nil
        }
    }

    /// The person in the claims of an access token; nil if there is none.
    private func claimant(of accessToken: String) -> BackendUser? {
        guard subject(of: accessToken) != nil, let claims = JWT.claims(in: accessToken) else { return nil }
        return BackendUser(claims: claims, subject: layout.tokenSubject)
    }

    private func subject(of accessToken: String) -> String? {
        JWT.claims(in: accessToken)?[path: layout.tokenSubject]?.identifier
    }

    private static func end(of tokens: TokenAnswer) -> Date? {
        tokens.expiresAt
            ?? Lifetime.time(JWT.claims(in: tokens.accessToken)?["exp"]).map(Date.init(timeIntervalSince1970:))
    }

    // MARK: - Refresh tokens

    func warmUp() async {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        let now = clock.now
        let answer = try await refreshed(credential)
        let tokens = layout.tokens.tokens(in: answer, sentAt: now)
        let claimed = subject(of: tokens.accessToken)
        let isSomebodyElse = claimed != nil && claimed != id.subject
        let another = OpenIDConnectError(.userInfoInvalid, "it is about another person", mayHaveBeenProcessed: true)
        // The subject came from such a claim. Another person's refresh token must not replace this one.
        if isSomebodyElse && layout.me.isEmpty { throw another }
        var renewed = credential
        // An answer without a refresh token keeps the old one.
        renewed.value = tokens.refreshToken ?? credential.value
        if tokens.hasToken { try await keep(renewed) }
        try tokens.usable()
        // The backend may use other identifiers in its tokens, so it is asked. If it does not answer, this call fails.
        // The new refresh token is stored already, and the next login asks again.
        var person: UserInfo?
        if isSomebodyElse {
            guard let asked = try await me(tokens.accessToken) else { throw another }
            try asked.require(id, mayHaveBeenProcessed: true)
            person = UserInfo(asked)
        }
        return TokenSet(
            accessToken: tokens.accessToken, expiresAt: Self.end(of: tokens), scope: tokens.scope,
            refreshToken: tokens.refreshToken, userInfo: person)
    }

    /// Returns the answer to a refresh token.
    ///
    /// - Throws: ``OpenIDConnectError`` with code `invalidGrant` if the token no longer works. It is
    ///   ``OpenIDConnectError/isFinal`` only for `invalid_grant`, and for a 401 with a code and a text. A 403 may be
    ///   about the person, and a 400 or 404 about the request.
    private func refreshed(_ credential: Credential) async throws -> JSONValue {
        do {
            return try await connection.post(
                layout.refresh, json: request(with: credential), secrets: [credential.value]
            ) { status, error in
                if error == "invalid_grant" { return .invalidGrant }
                // A 404 without the backend's word for the error says only that nothing answers at this path.
                let isOfToken = [400, 401].contains(status) || status == 404 && error != nil
                return isOfToken && !Self.otherMeanings.contains(error ?? "") ? .invalidGrant : nil
            }
        } catch let error as OpenIDConnectError where error.status == 401 && error.isOfServer {
            // Backends name an error by a code, beside a text for the person. A gateway has only one of the two, and
            // refuses every request without an access token.
            let hasBoth = error.providerError != nil && error.providerDescription?.isEmpty == false
            throw hasBoth ? error.final() : error
        }
    }

    /// OAuth's error codes that are not about the refresh token (RFC 6749 section 5.2).
    private static let otherMeanings: Set<String> = [
        "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
    ]

    func revoke(_ credential: Credential, of id: AccountID) async throws { try await end(credential, bearer: nil) }

    func revoke(_ credential: Credential, of id: AccountID, accessToken: String) async throws {
        try await end(credential, bearer: accessToken)
    }

    private func end(_ credential: Credential, bearer: String?) async throws {
        do {
            try await connection.end(
                layout.logout, json: request(with: credential), secret: credential.value, bearer: bearer)
        } catch let error as OpenIDConnectError where error.status == 404 && error.isOfServer {
            // A backend that does not know the refresh token has ended it already (RFC 7009 section 2.2). A backend
            // without such a call answers an empty request in the same way.
            guard await connection.has(layout.logout, token: bearer) else { throw error }
        }
    }

    private func request(with credential: Credential) -> JSONValue {
        JSONValue([(layout.refreshToken ?? BackendLayout.Tokens().refreshToken, .string(credential.value))])
    }

    // MARK: - The person

    var wantsLogout: Bool { layout.localLogout?.isEmpty == false }

    func loggedOut(accessToken: String) async throws {
        try await connection.tellLogout(layout.localLogout, token: accessToken, now: clock.now)
    }

    func userInfo(accessToken: String) async throws -> UserInfo {
        guard let user = try await me(accessToken) ?? claimant(of: accessToken) else {
            throw OpenIDConnectError(.unsupported, "user information")
        }
        return UserInfo(user)
    }
}

extension BackendLayout {
    fileprivate init(password: Password) {
        self.init()
        self.password = password
    }
}

extension SignInResult.Identity {
    /// The identity with the name that the person typed, if the backend gives no e-mail address.
    fileprivate func named(_ username: String) -> Self {
        guard email == nil else { return self }
        let isAddress = username.contains("@")
        return Self(
            email: isAddress ? username : nil, preferredUsername: preferredUsername ?? (isAddress ? nil : username),
            name: name, claimsJSON: claimsJSON)
    }
}
