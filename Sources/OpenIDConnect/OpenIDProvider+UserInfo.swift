internal import FoundationEssentials
internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

extension OpenIDProvider {
    /// Asks the provider for its current information about the person (OpenID Connect Core section 5.3).
    ///
    /// The answer must be about the expected person. A signed answer is verified with the provider's keys. An encrypted
    /// answer cannot be read.
    ///
    /// - Parameters:
    ///   - accessToken: an access token with the scope `openid`.
    ///   - subject: the expected person: the subject of the ID token. Nil only if nobody signed in here: then any
    ///     person is right.
    ///   - dpopKey: the key that the access token is bound to; nil for a Bearer token.
    /// - Throws: ``OpenIDConnectError``: `unsupported` if the provider has no such endpoint, `refused` with status 401
    ///   if it refuses the access token (refresh it and ask again), `userInfoInvalid`, `unavailable`, `invalidAnswer`,
    ///   `cancelled`.
    public func userinfo(accessToken: String, subject: String?, dpopKey: DPoPKey? = nil) async throws -> UserInfo {
        guard let url = try await completeMetadata().userinfoEndpoint else {
            throw OpenIDConnectError(.unsupported, "user information")
        }
        let answer: HTTPAnswer
        do {
            answer = try await oauth.exchange.send(
                .get, url, fields: [.accept: "application/json, application/jwt"], key: dpopKey,
                accessToken: accessToken)
        } catch let error as OpenIDConnectError {
            throw error.processed(false)  // Reading changes nothing at the provider.
        }
        guard answer.status == .ok else {
            if let outage = ProviderConnection.outage(answer.status.code) { throw outage.processed(false) }
            throw OpenIDConnectError(
                .refused, "HTTP \(answer.status.code)", status: answer.status.code,
                providerError: Challenge.error(in: answer) ?? JSONValue(objectIn: answer.body)?["error"]?.string)
        }
        let claimsJSON = try await userInfoClaims(in: answer)
        // A member must not come twice: a later reader of the claims could find another subject.
        guard let claims = JSONValue(strictObjectIn: claimsJSON) else {
            throw OpenIDConnectError(.userInfoInvalid, "it is not a JSON object", status: answer.status.code)
        }
        guard let found = claims["sub"]?.string, subject == nil || found == subject else {
            throw OpenIDConnectError(.userInfoInvalid, "it is about another person", status: answer.status.code)
        }
        return UserInfo(
            subject: found, email: claims["email"]?.string, emailVerified: claims["email_verified"]?.bool,
            preferredUsername: claims["preferred_username"]?.string, name: claims["name"]?.string,
            claimsJSON: claimsJSON)
    }

    /// Returns the claims as they came. A signed answer is verified first.
    private func userInfoClaims(in answer: HTTPAnswer) async throws -> [UInt8] {
        let type = answer.headerFields[.contentType]?.prefix { $0 != ";" }.lowercased() ?? ""
        guard type.hasPrefix("application/jwt") else { return answer.body }
        do {
            return try await verifier.verifiedUserInfo(String(decoding: answer.body, as: UTF8.self))
        } catch let error as OpenIDConnectError where error.code == .tokenInvalid {
            throw OpenIDConnectError(.userInfoInvalid, error.reason, status: answer.status.code)
        }
    }
}

extension IDTokenVerifier {
    /// Checks signed user information (OpenID Connect Core section 5.3.2): its signature, and the issuer, audience and
    /// times that are in it.
    ///
    /// - Returns: the claims as they came.
    func verifiedUserInfo(_ encoded: String) async throws -> [UInt8] {
        let token = try SignedToken(encoded)
        try await checkSignature(of: token)
        guard let claims = JSONValue(strictObjectIn: token.payload) else {
            throw OpenIDConnectError(.tokenInvalid, "its claims are not valid JSON")
        }
        if let issuer = claims.member("iss"), issuer.string != self.issuer {
            throw OpenIDConnectError(.tokenInvalid, "it comes from another issuer")
        }
        if let audience = claims.member("aud"),
            audience.string != clientID, audience.strings?.contains(clientID) != true
        {
            throw OpenIDConnectError(.tokenInvalid, "it is meant for another client")
        }
        let now = clock.now.timeIntervalSince1970
        if let expiry = claims.member("exp") {
            guard let expiry = Lifetime.time(expiry), now < expiry + Self.tolerance else {
                throw OpenIDConnectError(.tokenInvalid, "it has expired. Check the clock of this machine")
            }
        }
        if let notBefore = claims.member("nbf") {
            guard let notBefore = Lifetime.time(notBefore), notBefore <= now + Self.tolerance else {
                throw OpenIDConnectError(.tokenInvalid, "it is not valid yet. Check the clock of this machine")
            }
        }
        return token.payload
    }
}
