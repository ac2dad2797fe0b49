internal import FoundationEssentials
internal import VaultBase

/// The grants at the token endpoint.
extension AuthorizationServer {
    /// Redeems an authorization code (RFC 6749 section 4.1.3, RFC 7636 section 4.6).
    func redeemCode(
        _ form: FormParameters, client: Client, key: String?, entry: inout ProviderRequest
    ) async throws -> Grant {
        guard let text = form["code"] else { throw OAuthError.invalidRequest("code is missing.") }
        guard let verifier = form["code_verifier"] else { throw OAuthError.invalidRequest("code_verifier is missing.") }
        guard let code = codes[text], code.authorization.client.identifier == client.identifier else {
            throw OAuthError.invalidGrant("The code is not valid.")
        }
        entry.username = code.username
        guard !code.used else {
            if let family = code.family, state.families.removeValue(forKey: family) != nil { try await save() }
            throw OAuthError.invalidGrant("The code was used before.", outcome: .replayedCode)
        }
        codes[text]?.used = true
        guard code.expiresAt > options.now() else { throw OAuthError.invalidGrant("The code has expired.") }
        guard form["redirect_uri"] == code.authorization.redirectURI else {
            throw OAuthError.invalidGrant("redirect_uri differs from the authorization request.")
        }
        guard Base64URL.encode(digest(verifier)) == code.authorization.challenge else {
            throw OAuthError.invalidGrant("code_verifier does not match.")
        }
        guard code.authorization.keyThumbprint ?? key == key else { throw OAuthError.wrongKey }
        var grant = newLogin(
            of: code.username, at: code.authenticatedAt, client: client, scope: code.authorization.scope, key: key)
        grant.nonce = code.authorization.nonce
        codes[text]?.family = grant.family
        try await save()
        return grant
    }

    /// Redeems a device code (RFC 8628 section 3.4).
    func redeemDeviceCode(
        _ form: FormParameters, client: Client, key: String?, entry: inout ProviderRequest
    ) async throws -> Grant {
        let approval = try pollDevice(form, client: client)
        entry.username = approval.username
        let grant = newLogin(of: approval.username, at: approval.at, client: client, scope: approval.scope, key: key)
        try await save()
        return grant
    }

    /// Redeems username and password (RFC 6749 section 4.3).
    func redeemPassword(
        _ form: FormParameters, client: Client, key: String?, entry: inout ProviderRequest
    ) async throws -> Grant {
        guard form["username"] != nil, form["password"] != nil else {
            throw OAuthError.invalidRequest("username or password is missing.")
        }
        guard let user = options.user(loggingInWith: form) else {
            throw OAuthError.invalidGrant("The username or the password is wrong.", outcome: .wrongPassword)
        }
        entry.username = user.username
        let asked = (form["scope"] ?? "").split(separator: " ").map(String.init)
        let grant = newLogin(
            of: user.username, at: options.now(), client: client, scope: options.scopes.filter(asked.contains),
            key: key)
        try await save()
        return grant
    }

    /// Redeems a refresh token (RFC 6749 section 6).
    func redeemRefreshToken(
        _ form: FormParameters, client: Client, key: String?, fault: ProviderFault?,
        entry: inout ProviderRequest
    ) async throws -> Grant {
        guard let text = form["refresh_token"] else { throw OAuthError.invalidRequest("refresh_token is missing.") }
        guard let token = ProviderToken(text, under: tokenKey), token.kind == .refresh,
            isIssued(token, to: client)
        else { throw OAuthError.invalidGrant("The refresh token is not valid.") }
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
        guard login.keyThumbprint ?? key == key else { throw OAuthError.wrongKey }
        let scope = form["scope"]?.split(separator: " ").map(String.init) ?? login.scope
        guard scope.allSatisfy(login.scope.contains) else {
            throw OAuthError("invalid_scope", "The scope goes beyond what was granted.")
        }
        let rotates = options.rotatesRefreshTokens && fault?.kind != .omitRefreshToken
        if rotates { login.generation += 1 }
        // A login without a key gets a key with its first proof. RFC 9449 section 5 does not bind refresh tokens of
        // clients with a secret. Here they are bound like all others.
        let isNewlyBound = login.keyThumbprint != key
        login.keyThumbprint = key
        if rotates || isNewlyBound {
            state.families[token.family] = login
            try await save()
        }
        return Grant(
            client: client, family: token.family, login: login, scope: scope, nonce: nil, issuesRefreshToken: rotates)
    }

    /// Begins a family of tokens. The caller must save it.
    private func newLogin(of username: String, at date: Date, client: Client, scope: [String], key: String?) -> Grant {
        let login = ProviderState.Family(
            username: username, clientID: client.identifier == options.clientID ? nil : client.identifier,
            scope: scope, authenticatedAt: Int(date.timeIntervalSince1970), generation: 1,
            keyThumbprint: key)
        let family = UUID()
        state.families[family] = login
        let issues =
            options.issuesRefreshToken && scope.contains("offline_access")
            && client.grantTypes.contains("refresh_token")
        return Grant(client: client, family: family, login: login, scope: scope, nonce: nil, issuesRefreshToken: issues)
    }
}
