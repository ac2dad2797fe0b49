public import OpenIDConnect
internal import VaultStorage

// Other calls to the provider for the person who is logged in.
extension Auth {
    /// Returns the answer of the provider's UserInfo endpoint about the person who is logged in (OpenID Connect Core
    /// section 5.3), or a backend's answer. The answer must be about the same person.
    ///
    /// If the server refuses the token (401), the token is renewed and the server is asked once more.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` (log in), `tokenInvalid` if the answer is about another person
    ///   or the access token is refused (log in again), `configurationInvalid` if there is no such endpoint, and the
    ///   codes of ``Session/accessToken(forceRefresh:minimumValidity:)``.
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
                "The server refused the access token for user information (\(error.reason)). Log in again, or ask the server's operator.",
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
        return try await issuer.openIDProvider.userinfo(
            accessToken: token.value, subject: id.subject, dpopKey: key)
    }

    /// Returns the address that ends the person's session at the provider. Open it in the browser (OpenID Connect
    /// RP-Initiated Logout section 2). It ends no session here, and revokes nothing: also call ``logout()``.
    ///
    /// - Parameters:
    ///   - redirectURI: the registered URL to which the provider sends the browser afterwards; nil to stay there.
    ///   - state: a text that comes back with that redirect.
    /// - Throws: ``VaultError`` with code `notLoggedIn` (log in), or `configurationInvalid` if the provider has no such
    ///   address.
    public func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        switch try holder() {
        case .open(let session):
            return try await session.providerLogoutURL(redirectURI: redirectURI, state: state)
        case .unstored(let token, _):
            let provider = try issuers.issuer(issuers.source(of: token)).openIDProvider
            return try await VaultError.converting {
                try await provider.logoutURL(
                    idTokenHint: token.idToken, postLogoutRedirectURI: redirectURI, state: state)
            }
        }
    }

    /// Whether the provider of the settings supports a sign-in on another device (RFC 8628): see ``DeviceSignIn``.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` (correct the setting), or an error with `isOutage`
    ///   (try again later).
    public func offersDeviceSignIn() async throws -> Bool {
        try await VaultError.converting {
            let provider = opener.providers.provider(issuer: settings?.issuer ?? "", clientID: settings?.clientID ?? "")
            return try await provider.completeMetadata().deviceAuthorizationEndpoint != nil
        }
    }

    private func target(of holder: TokenHolder) throws -> (issuer: any TokenIssuer, id: AccountID) {
        switch holder {
        case .unstored(let token, _): return (try issuers.issuer(issuers.source(of: token)), token.account)
        case .open(let session):
            guard let source = session.source else { throw VaultError.unsupported() }
            return (try issuers.issuer(source), session.id)
        }
    }
}

extension TokenIssuer {
    /// The OpenID provider that issues the tokens.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` for another kind of server.
    var openIDProvider: OpenIDProvider {
        get throws {
            guard let issuer = self as? OpenIDConnectIssuer else {
                throw VaultError(
                    .configurationInvalid,
                    "This account does not belong to an OpenID provider, so this call cannot work.")
            }
            return issuer.provider
        }
    }
}
