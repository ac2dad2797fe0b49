public import OpenIDConnect
internal import VaultStorage

// What else the provider offers to whoever is logged in.
extension Auth {
    /// What the provider's UserInfo endpoint says of whoever is logged in now (OpenID Connect Core section 5.3), or the
    /// backend's likewise. It is checked that it is about the same person.
    ///
    /// A token that is not taken (401) is renewed, and it is asked once more.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn`, `tokenInvalid` when it is about another person, or when the access token
    ///   is not taken, `configurationInvalid` when there is no such endpoint, and what
    ///   ``Session/accessToken(forceRefresh:minimumValidity:)`` throws.
    public func userInfo() async throws -> UserInfo {
        let holder = try holder()
        let token = try await holder.accessToken(minimumValidity: .seconds(60))
        do {
            do {
                return try await userInfo(of: holder, token)
            } catch let error as OpenIDConnectError where error.code == .refused && error.status == 401 {
                return try await userInfo(of: holder, await holder.accessToken(replacing: token))
            }
        } catch let error as OpenIDConnectError where error.code == .refused {
            throw VaultError(
                .tokenInvalid,
                "The server does not take the access token for user information (\(error.reason)). Log in again, or ask who runs the server.",
                underlying: error)
        } catch {
            throw VaultError.converting(error)
        }
    }

    private func userInfo(of holder: TokenHolder, _ token: AccessToken) async throws -> UserInfo {
        let (issuer, id) = try target(of: holder)
        if let server = issuer as? any UserInfoSource {
            let user = try await server.userInfo(accessToken: token.value)
            guard user.subject == id.subject else {
                throw OpenIDConnectError(.userInfoInvalid, "it is about another person")
            }
            return user
        }
        let key = token.isBound ? try await holder.proofKey() : nil
        return try await Self.openIDProvider(issuer).userinfo(
            accessToken: token.value, subject: id.subject, dpopKey: key)
    }

    /// The address that ends the person's session at the provider, to be opened in the browser (OpenID Connect
    /// RP-Initiated Logout section 2). It ends no session here, and revokes nothing: call ``logout()`` as well.
    ///
    /// - Parameters:
    ///   - redirectURI: where the provider sends the browser afterwards, as registered there; nil to stay there.
    ///   - state: comes back with that redirect.
    /// - Throws: ``VaultError``: `notLoggedIn`, `configurationInvalid` when the provider has no such address.
    public func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        let holder = try holder()
        let provider = try Self.openIDProvider(target(of: holder).issuer)
        let hint: String?
        switch holder {
        case .unstored(let token, _): hint = token.idToken
        case .open(let session): hint = try await session.storedRefreshToken().idToken
        }
        return try await converting {
            try await provider.logoutURL(
                idTokenHint: hint, postLogoutRedirectURI: redirectURI, state: state)
        }
    }

    /// Whether the provider of the settings can sign somebody in on another device (RFC 8628): see ``DeviceSignIn``.
    ///
    /// - Throws: ``VaultError``: `configurationInvalid`; an error with `isOutage`: try again later.
    public func offersDeviceSignIn() async throws -> Bool {
        try await converting {
            let provider = providers.provider(issuer: settings?.issuer ?? "", clientID: settings?.clientID ?? "")
            return try await provider.completeMetadata().deviceAuthorizationEndpoint != nil
        }
    }

    /// What issued somebody's tokens, and who that is.
    private func target(of holder: TokenHolder) throws -> (issuer: any TokenIssuer, id: AccountID) {
        switch holder {
        case .unstored(let token, _): (try issuers.issuer(issuers.source(of: token)), token.account)
        case .open(let session): (try issuers.issuer(session.source), session.id)
        }
    }

    private static func openIDProvider(_ issuer: any TokenIssuer) throws -> OpenIDProvider {
        guard let issuer = issuer as? OpenIDConnectIssuer else {
            throw VaultError(.configurationInvalid, "This account does not sign in at an OpenID provider.")
        }
        return issuer.provider
    }
}
