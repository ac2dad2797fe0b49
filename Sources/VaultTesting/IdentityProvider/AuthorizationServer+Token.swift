internal import Crypto
internal import FoundationEssentials

/// The token endpoint (RFC 6749 sections 4.1.3, 5 and 6; RFC 7636 section 4.6).
extension AuthorizationServer {
    /// The token endpoint's answer.
    struct TokenAnswer {
        var status = 200
        /// JSON; empty for some faults.
        var body = Data()
        /// The connection is closed instead of answering.
        var isSwallowed = false
    }

    private struct TokenResponse: Encodable {
        var accessToken: String
        var tokenType = "Bearer"
        var expiresIn: Int
        var refreshToken: String?
        var scope: String?
        var idToken: String?
    }

    /// What a request has a right to.
    private struct Grant {
        var family: UUID
        var login: ProviderState.Family
        var scope: [String]
        var nonce: String?
        var issuesRefreshToken: Bool
    }

    /// Answers a request, or misbehaves as a test has asked for.
    func token(_ form: FormParameters?) async -> TokenAnswer {
        let fault = await faults.begin()
        var entry = ProviderRequest(.token, .ok)
        entry.grantType = form?["grant_type"]
        switch fault?.kind {
        case .status(let status):
            note(&entry, form)
            return TokenAnswer(status: status)
        case .emptyBadRequest:
            note(&entry, form)
            return TokenAnswer(status: 400)
        default: break
        }
        var answer = TokenAnswer()
        do {
            answer.body = try await process(form, fault: fault, entry: &entry)
            if fault?.kind == .swallowAnswer { entry.outcome = .answerSwallowed }
        } catch let error as OAuthError {
            entry.outcome = error.outcome
            answer = TokenAnswer(status: error.status, body: errorBody(error))
        } catch {
            entry.outcome = .init(rawValue: "server_error")
            answer = TokenAnswer(status: 500, body: errorBody(OAuthError("server_error", "The state was not stored.")))
        }
        log(entry)
        if fault?.kind == .delayAnswer { await faults.hold() }
        answer.isSwallowed = fault?.kind == .swallowAnswer
        return answer
    }

    /// Logs a request that a fault answers.
    private func note(_ entry: inout ProviderRequest, _ form: FormParameters?) {
        entry.outcome = .fault
        if let token = form?["refresh_token"].flatMap({ ProviderToken($0, under: tokenKey) }) {
            entry.presentedGeneration = Int(token.number)
            entry.username = state.families[token.family]?.username
        }
        log(entry)
    }

    private func process(
        _ form: FormParameters?, fault: ProviderFault?, entry: inout ProviderRequest
    ) async throws -> Data {
        guard let form else { throw OAuthError.invalidRequest("The body is not a form.") }
        if form.repeated != nil { throw OAuthError.invalidRequest("A parameter is given more than once.") }
        guard form["client_id"] == options.clientID else { throw OAuthError.invalidClient }
        let omitsRefreshToken = fault?.kind == .omitRefreshToken
        let grant: Grant
        switch form["grant_type"] {
        case "authorization_code":
            grant = try await redeemCode(form, entry: &entry, omitsRefreshToken: omitsRefreshToken)
        case "refresh_token":
            grant = try await redeemRefreshToken(form, entry: &entry, omitsRefreshToken: omitsRefreshToken)
        case nil: throw OAuthError.invalidRequest("grant_type is missing.")
        default: throw OAuthError("unsupported_grant_type", "Only authorization_code and refresh_token are supported.")
        }
        if grant.issuesRefreshToken { entry.issuedGeneration = Int(grant.login.generation) }
        var response = try await tokenResponse(for: grant)
        if case .scope(let scope) = fault?.kind { response.scope = scope }
        return try protocolJSON(response)
    }

    private func redeemCode(
        _ form: FormParameters, entry: inout ProviderRequest, omitsRefreshToken: Bool
    ) async throws -> Grant {
        guard let text = form["code"] else { throw OAuthError.invalidRequest("code is missing.") }
        guard let verifier = form["code_verifier"] else { throw OAuthError.invalidRequest("code_verifier is missing.") }
        guard let code = codes[text] else { throw OAuthError.invalidGrant("The code is not valid.") }
        entry.username = code.username
        guard !code.used else {
            if let family = code.family, state.families.removeValue(forKey: family) != nil { try await save() }
            throw OAuthError.invalidGrant("The code was used before.", outcome: .replayedCode)
        }
        codes[text]?.used = true
        guard code.expiresAt > options.now() else { throw OAuthError.invalidGrant("The code has expired.") }
        guard form["redirect_uri"] == code.authorization.redirectURI else {
            throw OAuthError.invalidGrant("redirect_uri is not the one of the authorization request.")
        }
        guard base64URL(Array(SHA256.hash(data: Data(verifier.utf8)))) == code.authorization.challenge else {
            throw OAuthError.invalidGrant("code_verifier does not match.")
        }
        let family = UUID()
        let scope = code.authorization.scope
        let login = ProviderState.Family(
            username: code.username, scope: scope,
            authenticatedAt: Int(code.authenticatedAt.timeIntervalSince1970), generation: 1)
        state.families[family] = login
        codes[text]?.family = family
        try await save()
        let issues = options.issuesRefreshToken && scope.contains("offline_access") && !omitsRefreshToken
        return Grant(
            family: family, login: login, scope: scope, nonce: code.authorization.nonce, issuesRefreshToken: issues)
    }

    private func redeemRefreshToken(
        _ form: FormParameters, entry: inout ProviderRequest, omitsRefreshToken: Bool
    ) async throws -> Grant {
        guard let text = form["refresh_token"] else { throw OAuthError.invalidRequest("refresh_token is missing.") }
        guard let token = ProviderToken(text, under: tokenKey), token.kind == .refresh else {
            throw OAuthError.invalidGrant("The refresh token is not valid.")
        }
        entry.presentedGeneration = Int(token.number)
        guard var login = state.families[token.family] else {
            throw OAuthError.invalidGrant("The refresh token was revoked.")
        }
        entry.username = login.username
        guard token.number == login.generation else {
            if options.reuseDetection {
                state.families[token.family] = nil
                try await save()
            }
            throw OAuthError.invalidGrant("The refresh token was used before.", outcome: .reusedRefreshToken)
        }
        let scope = form["scope"]?.split(separator: " ").map(String.init) ?? login.scope
        guard scope.allSatisfy(login.scope.contains) else {
            throw OAuthError("invalid_scope", "The scope goes beyond what was granted.")
        }
        let rotates = options.rotatesRefreshTokens && !omitsRefreshToken
        if rotates {
            login.generation += 1
            state.families[token.family] = login
            try await save()
        }
        return Grant(family: token.family, login: login, scope: scope, nonce: nil, issuesRefreshToken: rotates)
    }

    private func tokenResponse(for grant: Grant) async throws -> TokenResponse {
        guard let user = options.user(named: grant.login.username) else {
            throw OAuthError.invalidGrant("The user does not exist any more.")
        }
        let now = Int(options.now().timeIntervalSince1970)
        let expiry = now + options.accessTokenLifetime
        let accessToken = ProviderToken(kind: .access, family: grant.family, number: UInt64(max(0, expiry)))
            .encoded(under: tokenKey)
        var response = TokenResponse(
            accessToken: accessToken, expiresIn: options.accessTokenLifetime,
            scope: grant.scope.joined(separator: " "))
        if grant.issuesRefreshToken {
            response.refreshToken = ProviderToken(kind: .refresh, family: grant.family, number: grant.login.generation)
                .encoded(under: tokenKey)
        }
        if grant.scope.contains("openid") {
            var claims = IDTokenClaims(user: user, scope: grant.scope)
            claims.iss = issuer
            claims.aud = options.clientID
            claims.iat = now
            claims.exp = now + 300
            claims.authTime = grant.login.authenticatedAt
            claims.nonce = grant.nonce
            claims.atHash = IDTokenClaims.accessTokenHash(accessToken)
            response.idToken = try await sign(claims)
        }
        return response
    }
}
