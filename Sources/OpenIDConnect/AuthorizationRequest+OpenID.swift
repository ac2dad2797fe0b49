extension AuthorizationRequest {
    /// A sign-in at an OpenID provider (OpenID Connect Core section 3.1.2.1).
    init(
        metadata: ProviderMetadata, clientID: String, redirectURI: String, scopes: [String],
        additional: ProviderConnection.Form = [], dpopKey: DPoPKey? = nil, state: String = RandomText.make(),
        nonce: String = RandomText.make(), verifier: String = RandomText.make()
    ) {
        self.init(
            server: metadata, clientID: clientID, redirectURI: redirectURI, scopes: scopes,
            additional: [("nonce", nonce)] + additional, dpopKey: dpopKey, state: state, verifier: verifier)
    }

    /// What the ID token has to repeat.
    package var nonce: String { parameters.first { $0.name == "nonce" }?.value ?? "" }

    /// Whether the provider is asked to show the person nothing.
    private var showsNothing: Bool { parameters.contains { $0 == ("prompt", "none") } }

    /// Takes the authorization code out of a redirect, which also has to name the right issuer (RFC 9207).
    ///
    /// - Parameter callback: the redirect URL, or its path and query.
    /// - Throws: ``OpenIDConnectError``: `stateMismatch` for what is not known to be the answer to this request, and for
    ///   what is `callbackInvalid`, `denied`, `refused`, `interactionRequired` or `unavailable`.
    func code(in callback: String) throws -> String {
        let response = try AuthorizationResponse(callback)
        try response.requireState(of: self)
        if let issuer = try response.value("iss") {
            guard issuer == server.issuer else {
                throw AuthorizationResponse.invalid("it comes from another issuer")
            }
        } else if server.authorizationResponseIssParameterSupported, try response.value("error") == nil {
            // A refusal has nothing in it that could go to the wrong place, and some providers leave the issuer out there.
            throw AuthorizationResponse.invalid("its issuer is missing")
        }
        if let refusal = try response.refusal() { throw explained(refusal) }
        return try response.required("code")
    }

    /// The same refusal; after `prompt=none` it says what the person would have to do.
    private func explained(_ refusal: OpenIDConnectError) -> OpenIDConnectError {
        guard showsNothing, let need = Self.needs[refusal.providerError ?? ""] else { return refusal }
        return OpenIDConnectError(
            .interactionRequired, "\(need). Sign in again without prompt=none", providerError: refusal.providerError,
            providerDescription: refusal.providerDescription)
    }

    /// What the person would have to do (OpenID Connect Core section 3.1.2.6).
    private static let needs = [
        "login_required": "nobody is logged in at the provider in this browser",
        "interaction_required": "you have to do something on the provider's pages",
        "consent_required": "you have to allow this program on the provider's pages",
        "account_selection_required": "you have to choose an account on the provider's pages",
    ]
}
