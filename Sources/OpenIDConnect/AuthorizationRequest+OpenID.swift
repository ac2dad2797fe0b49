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

    /// The nonce, which the ID token has to repeat.
    package var nonce: String { parameters.first { $0.name == "nonce" }?.value ?? "" }

    /// Whether the request tells the provider to show no page.
    private var showsNothing: Bool { parameters.contains { $0 == ("prompt", "none") } }

    /// Takes the authorization code out of a redirect, and checks that the redirect names the right issuer (RFC 9207).
    ///
    /// - Parameter callback: the redirect URL, or its path and query.
    /// - Throws: ``OpenIDConnectError``: `stateMismatch` if the redirect may belong to another request, else
    ///   `callbackInvalid`, `denied`, `refused`, `interactionRequired` or `unavailable`.
    func code(in callback: String) throws -> String {
        let response = try AuthorizationResponse(callback)
        try response.requireState(of: self)
        if let issuer = try response.value("iss") {
            guard issuer == server.issuer else {
                throw AuthorizationResponse.invalid("it comes from another issuer")
            }
        } else if server.authorizationResponseIssParameterSupported, try response.value("error") == nil {
            // A refusal carries no secret that could go to the wrong server. Some providers leave the issuer out of it.
            throw AuthorizationResponse.invalid("its issuer is missing")
        }
        if let refusal = try response.refusal() { throw explained(refusal) }
        return try response.required("code")
    }

    /// Returns the refusal. After `prompt=none`, its text says what the person has to do.
    private func explained(_ refusal: OpenIDConnectError) -> OpenIDConnectError {
        guard showsNothing, let need = Self.needs[refusal.providerError ?? ""] else { return refusal }
        return OpenIDConnectError(
            .interactionRequired, "\(need). Sign in again without prompt=none", providerError: refusal.providerError,
            providerDescription: refusal.providerDescription)
    }

    /// The steps that the provider wants from the person (OpenID Connect Core section 3.1.2.6).
    private static let needs = [
        "login_required": "nobody is logged in at the provider in this browser",
        "interaction_required": "you have to do something on the provider's pages",
        "consent_required": "you have to allow this program on the provider's pages",
        "account_selection_required": "you have to choose an account on the provider's pages",
    ]
}
