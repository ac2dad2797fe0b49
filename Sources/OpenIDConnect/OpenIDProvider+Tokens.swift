internal import VaultBase

extension OpenIDProvider {
    /// Gets a new access token (RFC 6749 section 6, OpenID Connect Core section 12).
    ///
    /// Never call this twice at the same time with one token: a provider that rotates tokens treats that as theft.
    ///
    /// An ID token in the answer is verified. If the provider's keys cannot be fetched, the ID token is left out. An
    /// error would lose the new refresh token.
    ///
    /// - Parameters:
    ///   - refreshToken: the refresh token that counts now.
    ///   - subject: the expected person: the subject of the sign-in's ID token.
    ///   - dpopKey: the key that the refresh token is bound to: ``TokenSet/dpopKey`` of the sign-in, always the same.
    ///   - audience: the service that the access token is for (RFC 8707); nil for the usual one. Not every provider
    ///     obeys it, so check the audience of the token. If a provider refuses the audience, the error is `refused`,
    ///     with the provider's error `invalid_target`.
    ///   - keep: makes the answer's refresh token (nil: the old one stays) and scope durable. It is called first after
    ///     the answer, before anything that may fail or take time. An error from it ends the call.
    /// - Returns: tokens; `refreshToken` is nil if the old one stays valid.
    /// - Throws: ``OpenIDConnectError``: `invalidGrant` if the token is dead, `unavailable` to try later (look at
    ///   `mayHaveBeenProcessed` first), `refused`, `invalidAnswer`, `tokenInvalid`, `unsupported`, `cancelled`.
    public func refresh(
        _ refreshToken: String, subject: String, dpopKey: DPoPKey? = nil, audience: String? = nil,
        keep: (_ refreshToken: String?, _ scope: String?) async throws -> Void = { _, _ in }
    ) async throws -> TokenSet {
        // The first document is enough, unless a secret needs the announced method of client authentication.
        let metadata = oauth.authentication.asksForMethod ? try await completeMetadata() : try await metadata()
        let answer = try await oauth.redeem(
            .refreshToken(refreshToken, audience: audience), at: metadata, dpopKey: dpopKey)
        // Another person's refresh token must not replace this one, even if the signature is valid.
        if let idToken = answer.unverifiedIDToken, let claimed = JWT.claims(in: idToken)?["sub"]?.string,
            claimed != subject
        {
            throw OpenIDConnectError(
                .tokenInvalid, "the new ID token is about another person", mayHaveBeenProcessed: true)
        }
        // An answer without any token has nothing to keep.
        if answer.hasToken { try await keep(answer.refreshToken, answer.scope) }
        var tokens = TokenSet(try answer.usable(with: dpopKey), dpopKey: dpopKey)
        guard let idToken = answer.unverifiedIDToken else { return tokens }
        do {
            tokens.idToken = try await verifier.verify(
                idToken, accessToken: tokens.accessToken, expecting: .refresh(subject: subject))
        } catch let error as OpenIDConnectError where error.code == .tokenInvalid {
            throw error.processed(true)
        } catch {
            // Without keys there is no ID token: see the doc comment.
        }
        return tokens
    }

    /// Revokes a token (RFC 7009).
    ///
    /// - Parameters:
    ///   - token: the token to revoke.
    ///   - hint: `refresh_token` or `access_token`.
    /// - Throws: ``OpenIDConnectError``: `unsupported` if the provider cannot revoke this kind of token, `refused` with
    ///   the status, or `unavailable`.
    public func revoke(_ token: String, hint: String) async throws {
        try await oauth.revoke(token, hint: hint, at: try await completeMetadata())
    }
}
