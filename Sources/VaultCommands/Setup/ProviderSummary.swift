internal import CredentialVault

/// What an identity provider says that it can do, in a few lines for a person.
struct ProviderSummary {
    let lines: [String]

    /// - Parameter provider: what the provider publishes.
    init(_ provider: ProviderMetadata) {
        let hasDevice = provider.deviceAuthorizationEndpoint != nil
        // A provider that lists neither may still give refresh tokens: many list only a part.
        let mayRefresh =
            provider.grantTypesSupported?.contains("refresh_token") != false
            || provider.scopesSupported?.contains("offline_access") == true
        let bindsTokens = provider.dpopSigningAlgValuesSupported?.contains("ES256") == true
        lines = [
            ("Sign-in", hasDevice ? "in the browser, or with a code on another device" : "in the browser"),
            ("Refresh tokens", mayRefresh ? "yes" : "not announced: allow them for the client"),
            ("Tokens bound to a key", bindsTokens ? "yes (DPoP)" : "no"),
            ("Revoking tokens", provider.revocationEndpoint != nil ? "yes" : "no"),
            (
                "New clients",
                provider.registrationEndpoint != nil ? "vault can register one" : "its operator registers them"
            ),
        ].map { label, text in "  " + (label + ":").padded(to: 23) + text }
    }
}
