extension OpenIDProvider {
    /// Starts a sign-in with fresh state, nonce and PKCE verifier.
    ///
    /// If the provider supports pushed requests (RFC 9126), this one is pushed, so its parameters do not pass through
    /// the browser. If the provider refuses it and does not require it, the plain request is used.
    ///
    /// - Parameters:
    ///   - redirectURI: the address that the browser is sent back to, exactly as registered at the provider.
    ///   - scopes: `openid` must be among them.
    ///   - parameters: more parameters: `prompt`, `login_hint` and others.
    ///   - mayPush: whether the request may be pushed. Its address then works for a short time only (see
    ///     ``AuthorizationRequest/expiresAt``). Pass false if somebody carries the address to another machine.
    /// - Throws: ``OpenIDConnectError``: those of ``metadata()``, `configurationInvalid` for a parameter that is not
    ///   allowed, `unsupported` if the provider announces PKCE methods without S256, `refused` or `denied` if it
    ///   requires a pushed request and refuses this one.
    public func authorizationRequest(
        redirectURI: String, scopes: [String], parameters: SignInParameters = SignInParameters(),
        mayPush: Bool = true
    ) async throws -> AuthorizationRequest {
        guard EndpointURL.isUsable(redirectURI: redirectURI) else {
            throw OpenIDConnectError(.configurationInvalid, "the redirect URI is not usable")
        }
        guard !clientID.isEmpty else { throw OpenIDConnectError(.configurationInvalid, "the client ID is empty") }
        try Self.requireOpenID(scopes)
        try parameters.validate()
        let metadata = try await completeMetadata()
        if let methods = metadata.codeChallengeMethodsSupported, !methods.contains("S256") {
            throw OpenIDConnectError(.unsupported, "PKCE with S256")
        }
        let request = AuthorizationRequest(
            metadata: metadata, clientID: clientID, redirectURI: redirectURI, scopes: scopes,
            additional: parameters.form, dpopKey: newDPoPKey(metadata))
        guard mayPush || metadata.requirePushedAuthorizationRequests else { return request }
        return try await oauth.pushed(request)
    }

    /// Ends a sign-in: checks the redirect, exchanges the code, verifies the ID token.
    ///
    /// - Parameters:
    ///   - request: the request that the browser was sent with.
    ///   - callback: the redirect URL, or its path and query, as received.
    /// - Returns: tokens with a verified ID token.
    /// - Throws: ``OpenIDConnectError``: `denied`, `interactionRequired`, `stateMismatch`, `callbackInvalid`,
    ///   `invalidGrant`, `refused`, `invalidAnswer`, `tokenInvalid`, `unsupported`, `configurationInvalid`,
    ///   `unavailable`, `timedOut`, `interrupted`, `cancelled`. An authorization code works only once: after an error
    ///   start over. A second redirect for the same request is `callbackInvalid`, and its code is not sent.
    public func redeem(_ request: AuthorizationRequest, callback: String) async throws -> TokenSet {
        let code = try request.code(in: callback)
        guard request.answer() else {
            throw OpenIDConnectError(.callbackInvalid, "it came a second time")
        }
        let answer = try await oauth.redeem(
            .authorizationCode(code, redirectURI: request.redirectURI, verifier: request.verifier),
            at: request.server, dpopKey: request.dpopKey)
        return try await completed(answer, dpopKey: request.dpopKey, expecting: .signIn(nonce: request.nonce))
    }

    /// Signs in with a user name and a password (RFC 6749 section 4.3).
    ///
    /// OAuth 2.1 has no such grant: the program sees the password, and there is no second factor. Use it only if the
    /// person asks for it by name.
    ///
    /// - Parameters:
    ///   - username: the name of the person at the provider.
    ///   - password: the password of the person at the provider.
    ///   - scopes: `openid` must be among them.
    /// - Returns: tokens with a verified ID token.
    /// - Throws: ``OpenIDConnectError``: `wrongCredentials`, `refused` (mostly `unauthorized_client` or
    ///   `unsupported_grant_type`: the provider does not offer this grant), `invalidAnswer`, `tokenInvalid`,
    ///   `unsupported`, `configurationInvalid`, `unavailable`, `timedOut`, `interrupted`, `cancelled`.
    public func signIn(username: String, password: String, scopes: [String]) async throws -> TokenSet {
        try Self.requireOpenID(scopes)
        let metadata = try await completeMetadata()
        let key = newDPoPKey(metadata)
        let answer = try await oauth.redeem(
            .password(password, username: username, scopes: scopes), at: metadata, dpopKey: key)
        return try await completed(answer, dpopKey: key, expecting: .signInWithoutNonce)
    }

    static func requireOpenID(_ scopes: [String]) throws {
        guard scopes.contains("openid") else {
            throw OpenIDConnectError(.configurationInvalid, "the scope openid is missing")
        }
    }
}
