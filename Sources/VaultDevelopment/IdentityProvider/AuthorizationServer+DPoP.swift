internal import FoundationEssentials
internal import VaultBase

/// Tokens that work only with a key (RFC 9449).
extension AuthorizationServer {
    /// A request with an access token, here or at a resource server that trusts this provider.
    struct ResourceRequest: Sendable {
        /// The header `Authorization`.
        var authorization: String?
        var proofs: [String]
        var method: String
        /// The URL without the query.
        var url: String
        /// The resource server, as access tokens for it name it (RFC 8707); nil for one without a name.
        var audience: String?
    }

    /// The rights of a request with an access token.
    struct Access: Sendable {
        var user: DevelopmentIdentityProvider.User
        var scope: [String]
        /// The time of the login, in seconds since 1970.
        var authenticatedAt: Int
        /// The thumbprint of the key of the proof; nil if the token is not bound.
        var thumbprint: String?
    }

    /// The allowed error of a proof's time, in seconds.
    private static let tolerance = 60.0

    /// Checks the proof of a request to one of the provider's endpoints.
    /// - Returns: The thumbprint of its key; nil if there is no proof and none is needed.
    func checkProof(
        of request: ClientRequest, at path: String, isRequired: Bool, entry: inout ProviderRequest
    ) throws(OAuthError) -> String? {
        guard options.dpop != .off else { return nil }
        guard !request.proofs.isEmpty else {
            if isRequired { throw .invalidProof("It is missing.") }
            return nil
        }
        let thumbprint = try checkProof(request.proofs, method: "POST", url: issuer + path, accessToken: nil)
        entry.dpopThumbprint = thumbprint
        return thumbprint
    }

    /// Checks all parts of a proof (section 4.3).
    private func checkProof(
        _ proofs: [String], method: String, url: String, accessToken: String?
    ) throws(OAuthError) -> String {
        guard proofs.count == 1, let text = proofs.first else { throw .invalidProof("Send exactly one.") }
        let proof = try DPoPProof(text)
        let claims = proof.claims
        guard claims.htm == method else { throw .invalidProof("htm is another method.") }
        guard claims.htu == url else { throw .invalidProof("htu is another URL, or has a query or fragment.") }
        guard claims.ath == accessToken.map({ Base64URL.encode(digest($0)) }) else {
            throw .invalidProof("ath is not the hash of the access token.")
        }
        let now = options.now()
        guard abs(now.timeIntervalSince1970 - claims.iat) <= Self.tolerance else {
            throw .invalidProof("iat is too far from now.")
        }
        if now >= nextForgetting {
            seenProofs = seenProofs.filter { $0.value > now }
            nextForgetting = now.addingTimeInterval(Self.tolerance)
        }
        guard seenProofs.updateValue(now.addingTimeInterval(2 * Self.tolerance), forKey: claims.jti) == nil else {
            throw .invalidProof("jti was used before.")
        }
        if options.demandsDPoPNonces, !(claims.nonce.map(dpopNonces.contains) ?? false) {
            throw OAuthError("use_dpop_nonce", "The DPoP proof needs the nonce of the header DPoP-Nonce.")
        }
        return proof.thumbprint
    }

    /// The nonce for clients; nil if none is needed (section 8).
    var announcedNonce: String? { options.demandsDPoPNonces ? dpopNonces.first : nil }

    func renewNonce(keepingOld: Bool) { dpopNonces = [randomIdentifier()] + (keepingOld ? dpopNonces.prefix(1) : []) }

    /// Finds the person and scopes of a request's access token (section 7; RFC 6750 section 2.1).
    func access(
        _ request: ResourceRequest
    ) throws(OAuthError) -> Access {
        let header = request.authorization ?? ""
        let scheme = header.prefix { $0 != " " }.lowercased()
        let text = String(header.dropFirst(scheme.count + 1))
        let signed = inner(text, audience: request.audience)
        let token = signed?.token ?? ProviderToken(text, under: tokenKey)
        let found = token.flatMap { self.access($0, signed?.text ?? text) }
        let isBound = token?.kind == .boundAccess || signed != nil && found?.login.keyThumbprint != nil
        // The token behind a signed one does not count alone.
        guard let found, (token?.kind == .restrictedAccess) == (signed != nil),
            scheme == (isBound ? "dpop" : "bearer")
        else { throw .invalidToken(scheme: isBound || scheme == "dpop" ? "DPoP" : "Bearer") }
        var access = Access(
            user: found.user, scope: found.login.scope, authenticatedAt: found.login.authenticatedAt)
        guard isBound else { return access }
        do throws(OAuthError) {
            let thumbprint = try checkProof(
                request.proofs, method: request.method, url: request.url, accessToken: text)
            guard thumbprint == found.login.keyThumbprint else { throw OAuthError.invalidToken(scheme: "DPoP") }
            access.thumbprint = thumbprint
            return access
        } catch {
            var error = error
            error.status = 401
            error.challenge = #"DPoP error="\#(error.code)", algs="ES256""#
            throw error
        }
    }
}

extension OAuthError {
    static func invalidToken(scheme: String) -> OAuthError {
        var error = OAuthError("invalid_token", "The access token is not valid.", status: 401)
        error.challenge = #"\#(scheme) error="invalid_token""# + (scheme == "DPoP" ? #", algs="ES256""# : "")
        return error
    }
}
