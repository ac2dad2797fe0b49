internal import FoundationEssentials
internal import VaultBase

/// Decides whether an ID token can be trusted (OpenID Connect Core sections 3.1.3.7 and 12.2).
struct IDTokenVerifier: Sendable {
    /// The origin of the token. Some checks depend on it.
    enum Expectation: Sendable {
        /// The answer to a code: it carries the nonce of the authorization request.
        case signIn(nonce: String)
        /// The answer to a grant without a nonce: a device code, a user name and password.
        case signInWithoutNonce
        /// The answer to a refresh: it is about the person who signed in before.
        case refresh(subject: String)
    }

    /// The largest allowed difference between the clocks of provider and machine, in seconds.
    static let tolerance: TimeInterval = 120

    let issuer: String
    let clientID: String
    let clock: any WallClock
    let keys: KeySource

    /// Checks signature and claims.
    ///
    /// - Throws: ``OpenIDConnectError``: `tokenInvalid`, or the error from fetching the provider's keys.
    func verify(_ encoded: String, accessToken: String, expecting expectation: Expectation) async throws -> IDToken {
        let token = try SignedToken(encoded)
        try await checkSignature(of: token)
        guard let claims = JSONValue(strictObjectIn: token.payload) else {
            throw invalid("its claims are not valid JSON")
        }
        try checkIssuerAndAudience(claims)
        let (expiresAt, issuedAt) = try checkTimes(claims)
        let subject = try checkSubject(claims)
        switch expectation {
        case .signIn(let nonce):
            guard let value = claims["nonce"]?.string, RandomText.areEqual(value, nonce) else {
                throw invalid("its nonce is not that of this sign-in")
            }
        case .signInWithoutNonce: break
        case .refresh(let expected):
            guard subject == expected else { throw invalid("it is about another person") }
        }
        if let hash = claims.member("at_hash") {
            guard let hash = hash.string, RandomText.areEqual(hash, token.algorithm.halfHash(of: accessToken)) else {
                throw invalid("its at_hash does not match the access token")
            }
        }
        return IDToken(
            issuer: issuer, subject: subject, email: claims["email"]?.string,
            preferredUsername: claims["preferred_username"]?.string, name: claims["name"]?.string,
            expiresAt: expiresAt, issuedAt: issuedAt, claimsJSON: token.payload, encoded: encoded)
    }

    /// Checks that a key of the provider made the signature.
    func checkSignature(of token: SignedToken) async throws {
        let known = try await keys.keys()
        if Self.isSigned(token, byAnyOf: known.keys) { return }
        // The provider may have changed its keys since the last fetch.
        if !known.areFresh, let newer = try await keys.keys(newerThan: known.generation),
            Self.isSigned(token, byAnyOf: newer)
        {
            return
        }
        throw invalid("no key of the provider verifies its signature")
    }

    static func isSigned(_ token: SignedToken, byAnyOf keys: [SignatureKey]) -> Bool {
        keys.contains { key in
            (token.keyID == nil || token.keyID == key.keyID)
                && key.verifies(token.signature, over: token.signingInput, algorithm: token.algorithm)
        }
    }

    private func checkIssuerAndAudience(_ claims: JSONValue) throws {
        guard claims["iss"]?.string == issuer else { throw invalid("it comes from another issuer") }
        guard let audiences = claims["aud"]?.string.map({ [$0] }) ?? claims["aud"]?.strings,
            audiences.contains(clientID)
        else { throw invalid("it is meant for another client") }
        if let authorized = claims.member("azp") {
            guard authorized.string == clientID else { throw invalid("it was issued to another client") }
        } else if audiences.count > 1 {
            throw invalid("it has several audiences but no authorized party")
        }
    }

    private func checkTimes(_ claims: JSONValue) throws -> (expiresAt: Date, issuedAt: Date) {
        let now = clock.now.timeIntervalSince1970
        guard let expiry = Lifetime.time(claims["exp"]) else { throw invalid("it has no expiry time") }
        guard now < expiry + Self.tolerance else { throw invalid("it has expired. Check the clock of this machine") }
        guard let issued = Lifetime.time(claims["iat"]) else { throw invalid("it has no time of issue") }
        guard issued <= now + Self.tolerance else {
            throw invalid("it was issued in the future. Check the clock of this machine")
        }
        if let notBefore = claims.member("nbf") {
            guard let notBefore = Lifetime.time(notBefore), notBefore <= now + Self.tolerance else {
                throw invalid("it is not valid yet. Check the clock of this machine")
            }
        }
        return (Date(timeIntervalSince1970: expiry), Date(timeIntervalSince1970: issued))
    }

    private func checkSubject(_ claims: JSONValue) throws -> String {
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw invalid("its subject is missing or not 1 to 255 ASCII characters") }
        return subject
    }

    private func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.tokenInvalid, reason) }
}
