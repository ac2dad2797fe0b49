extension OpenIDProvider {
    /// The address that logs the person out of the provider when it is opened in the browser (OpenID Connect
    /// RP-Initiated Logout 1.0 section 2). The tokens of this client are not revoked by that.
    ///
    /// - Parameters:
    ///   - idTokenHint: ``IDToken/encoded`` of the person's last ID token; without it the provider may ask who is meant.
    ///   - postLogoutRedirectURI: where the browser goes afterwards, exactly as registered at the provider; nil to let it
    ///     stay there.
    ///   - state: comes back with the redirect.
    /// - Throws: ``OpenIDConnectError``: those of ``metadata()``, `unsupported` when the provider has no such address,
    ///   `configurationInvalid` for a redirect URI that is none.
    public func logoutURL(
        idTokenHint: String?, postLogoutRedirectURI: String?, state: String? = nil
    ) async throws -> String {
        if let postLogoutRedirectURI, !EndpointURL.isUsable(redirectURI: postLogoutRedirectURI) {
            throw OpenIDConnectError(.configurationInvalid, "the redirect URI is not usable")
        }
        guard let url = try await completeMetadata().endSessionEndpoint else {
            throw OpenIDConnectError(.unsupported, "logging out in the browser")
        }
        var parameters: ProviderConnection.Form = []
        if let idTokenHint, !idTokenHint.isEmpty { parameters.append(("id_token_hint", idTokenHint)) }
        if !clientID.isEmpty { parameters.append(("client_id", clientID)) }
        if let postLogoutRedirectURI { parameters.append(("post_logout_redirect_uri", postLogoutRedirectURI)) }
        if let state { parameters.append(("state", state)) }
        return EndpointURL.adding(parameters, to: url)
    }
}
