internal import FoundationEssentials

/// The token endpoint (RFC 6749 section 5): the choice of the grant, and the answer.
extension AuthorizationServer {
    /// The token endpoint's answer.
    struct TokenAnswer {
        var status = 200
        var type = "application/json"
        /// The body: mostly JSON, empty for some faults.
        var body = Data()
        /// The header `WWW-Authenticate`.
        var challenge: String?
        /// The header `Retry-After`.
        var retryAfter: Int?
        /// Whether the connection is closed without an answer.
        var isSwallowed = false
    }

    private struct TokenResponse: Encodable {
        var accessToken: String
        var tokenType: String
        var expiresIn: Int
        var refreshToken: String?
        var scope: String?
        var idToken: String?
    }

    /// The rights of a request.
    struct Grant {
        var client: Client
        var family: UUID
        var login: ProviderState.Family
        var scope: [String]
        var nonce: String?
        var issuesRefreshToken: Bool
        /// The resource server that the access token is for (RFC 8707); nil for any.
        var resource: String?
    }

    /// Answers a request, or misbehaves if a test has set a fault.
    func token(_ request: ClientRequest) async -> TokenAnswer {
        let fault = await faults.begin(at: ProviderRequest.Endpoint.token.description)
        var entry = ProviderRequest(.token, .ok)
        entry.grantType = request.form?["grant_type"]
        if case .answer(let status, let type, let body, let retryAfter) = fault?.kind {
            note(&entry, request.form)
            return TokenAnswer(
                status: status, type: type ?? "application/json", body: Data(body.utf8), retryAfter: retryAfter)
        }
        var answer = TokenAnswer()
        do {
            answer.body = try await process(request, fault: fault, entry: &entry)
            if fault?.kind == .swallowAnswer { entry.outcome = .answerSwallowed }
        } catch let error as OAuthError {
            entry.outcome = error.outcome
            answer = TokenAnswer(status: error.status, body: errorBody(error), challenge: error.challenge)
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
        entry.clientID = form?["client_id"]
        if let token = form?["refresh_token"].flatMap({ ProviderToken($0, under: tokenKey) }) {
            entry.presentedGeneration = Int(token.number)
            entry.username = state.families[token.family]?.username
        }
        log(entry)
    }

    private func process(
        _ request: ClientRequest, fault: ProviderFault?, entry: inout ProviderRequest
    ) async throws -> Data {
        let client = try authenticate(request, entry: &entry)
        guard let form = request.form, let grantType = form["grant_type"] else {
            throw OAuthError.invalidRequest("grant_type is missing.")
        }
        guard grantTypes.contains(grantType) else {
            throw OAuthError(
                "unsupported_grant_type", "Only these are supported: \(grantTypes.joined(separator: ", ")).")
        }
        guard client.grantTypes.contains(grantType) else { throw OAuthError.unauthorizedClient }
        let key = try checkProof(of: request, at: "/token", isRequired: options.dpop == .required, entry: &entry)
        var grant: Grant
        switch grantType {
        case "authorization_code": grant = try await redeemCode(form, client: client, key: key, entry: &entry)
        case "refresh_token":
            grant = try await redeemRefreshToken(
                form, client: client, key: key, fault: fault, entry: &entry)
        case "password": grant = try await redeemPassword(form, client: client, key: key, entry: &entry)
        default: grant = try await redeemDeviceCode(form, client: client, key: key, entry: &entry)
        }
        if options.restrictsAudiences { grant.resource = form["resource"] }
        return try protocolJSON(try await tokenResponse(for: grant, fault: fault, entry: &entry))
    }

    private func tokenResponse(
        for grant: Grant, fault: ProviderFault?, entry: inout ProviderRequest
    ) async throws -> TokenResponse {
        guard let user = options.user(named: grant.login.username) else {
            throw OAuthError.invalidGrant("The user does not exist any more.")
        }
        let now = Int(options.now().timeIntervalSince1970)
        let expiry = now + options.accessTokenLifetime
        let isBound = grant.login.keyThumbprint != nil
        let kind: ProviderToken.Kind =
            grant.resource != nil ? .restrictedAccess : isBound ? .boundAccess : .access
        let token = ProviderToken.access(grant.family, expiry: expiry, epoch: state.accessEpoch, kind)
        let accessToken =
            try await restricted(token, grant, to: user, now: now) ?? token.encoded(under: tokenKey)
        var response = TokenResponse(
            accessToken: accessToken, tokenType: isBound ? "DPoP" : "Bearer", expiresIn: options.accessTokenLifetime,
            scope: grant.scope.joined(separator: " "))
        if case .scope(let scope) = fault?.kind { response.scope = scope }
        if grant.issuesRefreshToken, fault?.kind != .omitRefreshToken {
            entry.issuedGeneration = Int(grant.login.generation)
            response.refreshToken = ProviderToken.refresh(grant.family, generation: grant.login.generation)
                .encoded(under: tokenKey)
        }
        if grant.scope.contains("openid") {
            var claims = IDTokenClaims(user: user, scope: grant.scope)
            claims.iss = issuer
            claims.aud = grant.client.identifier
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
