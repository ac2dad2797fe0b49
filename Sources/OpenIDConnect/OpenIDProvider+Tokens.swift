internal import VaultJSON

extension OpenIDProvider {
    /// Gets a new access token (RFC 6749 section 6, OpenID Connect Core section 12).
    ///
    /// Never call it twice at the same time with one token: a provider that rotates takes that for theft.
    ///
    /// An ID token that came along is verified. When only the provider's keys cannot be had for that, it is left out
    /// instead, as failing would lose the new refresh token.
    ///
    /// - Parameters:
    ///   - refreshToken: the refresh token that counts now.
    ///   - subject: who must still be meant: the subject of the sign-in's ID token.
    ///   - dpopKey: the key that the refresh token is bound to: ``TokenSet/dpopKey`` of the sign-in, always the same.
    ///   - keep: makes the answer's refresh token (nil: the old one stays) and scope durable. It is called as soon as
    ///     there is an answer, before anything that may fail or take time. What it throws ends the call.
    /// - Returns: tokens; `refreshToken` is nil when the old one stays valid.
    /// - Throws: ``OpenIDConnectError``: `invalidGrant` when the token is dead, `unavailable` to try later (look at
    ///   `mayHaveBeenProcessed` first), `refused`, `invalidAnswer`, `tokenInvalid`, `unsupported`, `cancelled`.
    public func refresh(
        _ refreshToken: String, subject: String, dpopKey: DPoPKey? = nil,
        keep: (_ refreshToken: String?, _ scope: String?) async throws -> Void = { _, _ in }
    ) async throws -> TokenSet {
        // One document is enough, except to know where a secret goes.
        let metadata = oauth.authentication.asksForMethod ? try await completeMetadata() : try await metadata()
        let answer = try await oauth.redeem(.refreshToken(refreshToken), at: metadata, dpopKey: dpopKey)
        // Somebody else's refresh token must not take this one's place, whatever the signature is worth.
        if let idToken = answer.unverifiedIDToken, let claimed = JWT.claims(in: idToken)?["sub"]?.string,
            claimed != subject
        {
            throw OpenIDConnectError(
                .tokenInvalid, "the new ID token is about another person", mayHaveBeenProcessed: true)
        }
        // Of an answer with no token at all there is nothing to keep.
        if answer.hasToken { try await keep(answer.refreshToken, answer.scope) }
        var tokens = TokenSet(try answer.usable(with: dpopKey), dpopKey: dpopKey)
        guard let idToken = answer.unverifiedIDToken else { return tokens }
        do {
            tokens.idToken = try await verifier.verify(
                idToken, accessToken: tokens.accessToken, expecting: .refresh(subject: subject))
        } catch let error as OpenIDConnectError where error.code == .tokenInvalid {
            throw error.processed(true)
        } catch {
            // No keys, no ID token: see above.
        }
        return tokens
    }

    /// Revokes a token (RFC 7009).
    ///
    /// - Parameters:
    ///   - token: the token to revoke.
    ///   - hint: `refresh_token` or `access_token`.
    /// - Throws: ``OpenIDConnectError``: `unsupported` when the provider has no revocation endpoint or not for this kind
    ///   of token, `refused` with the status, or `unavailable`.
    public func revoke(_ token: String, hint: String) async throws {
        try await oauth.revoke(token, hint: hint, at: try await completeMetadata())
    }
}
