extension OpenIDProvider {
    /// Returns the address that logs the person out of the provider in the browser (OpenID Connect RP-Initiated Logout
    /// 1.0 section 2). This does not revoke the tokens of this client.
    ///
    /// - Parameters:
    ///   - idTokenHint: ``IDToken/encoded`` of the person's last ID token. Without it, the provider may ask who logs
    ///     out.
    ///   - postLogoutRedirectURI: the address that the browser goes to afterwards, exactly as registered at the
    ///     provider; nil to stay at the provider.
    ///   - state: a value that comes back with the redirect.
    /// - Throws: ``OpenIDConnectError``: those of ``metadata()``, `unsupported` if the provider has no such address,
    ///   `configurationInvalid` for an invalid redirect URI.
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
