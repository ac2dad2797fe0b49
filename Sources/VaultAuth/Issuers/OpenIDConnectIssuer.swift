internal import OpenIDConnect
internal import VaultStorage

/// An OpenID provider as the issuer of an account's tokens.
struct OpenIDConnectIssuer: AudienceIssuer {
    /// The provider for a client without a secret, which most clients are.
    let provider: OpenIDProvider
    private let confidential: @Sendable (_ secret: String, _ method: String?) -> OpenIDProvider

    init(_ key: IssuerKey, providers: Providers) {
        provider = providers.provider(issuer: key.issuer, clientID: key.clientID)
        confidential = {
            providers.provider(
                issuer: key.issuer, clientID: key.clientID, clientSecret: $0, authenticationMethod: $1)
        }
    }

    func warmUp() async { await provider.warmUp() }

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await refresh(credential, of: id, audience: nil, keep: keep)
    }

    func renew(
        _ credential: Credential, of id: AccountID, audience: String, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await refresh(credential, of: id, audience: audience, keep: keep)
    }

    private func refresh(
        _ credential: Credential, of id: AccountID, audience: String?, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await provider(for: credential).refresh(
            credential.value, subject: id.subject, dpopKey: try credential.dpopKey(), audience: audience
        ) { refreshToken, scope in
            var renewed = credential
            // If the answer has no refresh token, the old one stays valid (RFC 6749 section 6).
            renewed.value = refreshToken ?? credential.value
            renewed.scope = scope ?? credential.scope
            try await keep(renewed)
        }
    }

    func revoke(_ credential: Credential, of id: AccountID) async throws {
        try await provider(for: credential).revoke(credential.value, hint: "refresh_token")
    }

    private func provider(for credential: Credential) -> OpenIDProvider {
        credential.clientSecret.map { confidential($0, credential.clientAuthenticationMethod) } ?? provider
    }
}

/// OpenID providers as a kind of server, which is the default.
struct OpenIDIssuers: IssuerKind {
    let providers: Providers

    func issues(tokensOf key: IssuerKey) -> Bool { key.method == .openIDConnect }

    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer {
        OpenIDConnectIssuer(key, providers: providers)
    }
}

extension Credential {
    /// Returns the key that the tokens are bound to; nil if they are not bound.
    func dpopKey() throws -> DPoPKey? {
        guard let proofKey else { return nil }
        do {
            return try DPoPKey(rawRepresentation: proofKey)
        } catch {
            throw VaultError(
                .storeCorrupt, "The stored key of the tokens is damaged. Register the account again.", underlying: error
            )
        }
    }
}
