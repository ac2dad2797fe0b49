package import Foundation
internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

// For a server that gets access tokens: it has to know whose they are.
extension OpenIDProvider {
    /// Returns the person whom an access token speaks for.
    ///
    /// A signed token (RFC 9068) is checked with the provider's keys. Any other token is checked by the provider (RFC
    /// 7662), which needs a client with a secret. Other tokens of the provider are refused, such as ID tokens: programs
    /// hand them around more freely. A token that is bound to a key (RFC 9449, RFC 8705) is refused, too, because this
    /// function gets no proof of that key. A thief without the key could have sent it.
    ///
    /// - Parameters:
    ///   - token: the access token, as the client sent it.
    ///   - audience: the audience that the token must name; nil for any. With nil, a signed token must have the type
    ///     `at+jwt`. With an audience, a signed token may instead have a member that only access tokens have, such as
    ///     `scope`.
    /// - Returns: the subject at this provider.
    /// - Throws: ``OpenIDConnectError``: `tokenInvalid`: refuse the request. `unavailable`, `timedOut`, `interrupted`:
    ///   try again later. `unsupported`: the provider cannot check opaque tokens.
    public func subject(ofAccessToken token: String, audience: String?) async throws -> String {
        try await facts(ofAccessToken: token, audience: audience, boundTo: nil).subject
    }

    /// The facts that a provider confirms with an access token.
    package struct AccessTokenFacts: Sendable {
        /// The subject at the provider.
        package let subject: String
        /// The time when the person last signed in at the provider (`auth_time`); nil if the provider does not say.
        package let authenticatedAt: Date?

        fileprivate init(_ subject: String, _ claims: JSONValue) {
            self.subject = subject
            authenticatedAt = Lifetime.time(claims["auth_time"]).map(Date.init(timeIntervalSince1970:))
        }
    }

    /// As ``subject(ofAccessToken:audience:)``, for a token that may be bound to a key.
    ///
    /// - Parameter thumbprint: the thumbprint of the key that signed the proof of the request. The token must be bound
    ///   to this key. Nil if the request has no proof: then the token must not be bound.
    package func facts(
        ofAccessToken token: String, audience: String?, boundTo thumbprint: String?
    ) async throws -> AccessTokenFacts {
        guard token.utf8.count <= 16 * 1024, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !token.isEmpty
        else {
            throw Self.invalid("it is not a token")
        }
        if let signed = try? SignedToken(token, types: ["at+jwt", "application/at+jwt", "jwt"]) {
            return try await facts(of: signed, audience: audience, thumbprint)
        }
        return try await introspectedFacts(of: token, audience: audience, thumbprint)
    }

    private func facts(
        of token: SignedToken, audience: String?, _ thumbprint: String?
    ) async throws -> AccessTokenFacts {
        try await verifier.checkSignature(of: token)
        guard let claims = JSONValue(strictObjectIn: token.payload) else {
            throw Self.invalid("its claims are not valid JSON")
        }
        guard claims["iss"]?.string == issuer else {
            throw Self.invalid("it comes from another issuer")
        }
        let isAccessToken = token.type == "at+jwt" || token.type == "application/at+jwt"
        guard isAccessToken || audience != nil && Self.looksLikeAccessToken(claims) else {
            throw Self.invalid("it may be an ID token")
        }
        try Self.check(claims, audience: audience, now: clock.now, needsExpiry: true)
        try Self.requireKey(thumbprint, in: claims)
        return AccessTokenFacts(try Self.subject(in: claims), claims)
    }

    /// Whether a signed token without the type of RFC 9068 is an access token: with a member that ID tokens and logout
    /// tokens never have, and without one that only these have.
    private static func looksLikeAccessToken(_ claims: JSONValue) -> Bool {
        let isOther = ["nonce", "at_hash", "c_hash", "events"].contains { claims.member($0) != nil }
        let isAccess =
            ["scope", "scp", "client_id"].contains { claims.member($0) != nil }
            || [claims["typ"], claims["token_use"], claims["type"]].contains { member in
                ["bearer", "access", "access_token"].contains(member?.string?.lowercased())
            }
        return isAccess && !isOther
    }

    /// Refuses a token whose claims name another kind of token. Some providers call refresh tokens active (RFC 7662
    /// leaves this open), and name the kind only here.
    private static func requireAccessToken(_ claims: JSONValue) throws {
        let others: Set = ["id", "id_token", "refresh", "refresh_token", "offline", "logout", "logout_token"]
        for name in ["typ", "type", "token_type", "token_use"] {
            guard let kind = claims[name]?.string?.lowercased() else { continue }
            guard !others.contains(kind) else { throw invalid("it is another kind of token") }
        }
    }

    private func introspectedFacts(
        of token: String, audience: String?, _ thumbprint: String?
    ) async throws -> AccessTokenFacts {
        let metadata = try await completeMetadata()
        guard let url = metadata.introspectionEndpoint else {
            throw OpenIDConnectError(.unsupported, "checking opaque access tokens")
        }
        let form = [("token", token), ("token_type_hint", "access_token")]
        let (answer, sent) = try await oauth.post(form, to: url, of: metadata)
        if let outage = ProviderConnection.outage(answer.status.code) { throw outage }
        guard answer.status == .ok, let claims = JSONValue(strictObjectIn: answer.body) else {
            throw ProviderConnection.refusal(answer, sent: sent)
        }
        guard claims["active"]?.bool == true else { throw Self.invalid("it is not active") }
        if let from = claims["iss"], from.string != issuer {
            throw Self.invalid("it comes from another issuer")
        }
        try Self.check(claims, audience: audience, now: clock.now, needsExpiry: false)
        try Self.requireKey(thumbprint, in: claims)
        if claims.member("sub") != nil { return AccessTokenFacts(try Self.subject(in: claims), claims) }
        // Some providers name only the user here (RFC 7662 section 2.2), but the subject in the user information.
        do {
            return AccessTokenFacts(try await userinfo(accessToken: token, subject: nil).subject, claims)
        } catch let error as OpenIDConnectError where error.code == .refused || error.code == .unsupported {
            throw Self.invalid("it names no person")
        }
    }

    private static func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.tokenInvalid, reason) }

    private static func check(_ claims: JSONValue, audience: String?, now: Date, needsExpiry: Bool) throws {
        try requireAccessToken(claims)
        let (now, tolerance) = (now.timeIntervalSince1970, IDTokenVerifier.tolerance)
        if needsExpiry || claims.member("exp") != nil {
            guard let expiry = Lifetime.time(claims["exp"]), now < expiry + tolerance else {
                throw invalid("it has expired")
            }
        }
        if let notBefore = claims.member("nbf") {
            guard let notBefore = Lifetime.time(notBefore), notBefore <= now + tolerance else {
                throw invalid("it is not valid yet")
            }
        }
        if let audience {
            let audiences = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.strings ?? []
            guard audiences.contains(audience) else { throw invalid("it is meant for another service") }
        }
    }

    /// Compares the key of a request's proof with the key that the token is bound to (RFC 9449 section 7.1).
    private static func requireKey(_ thumbprint: String?, in claims: JSONValue) throws {
        guard let confirmation = claims.member("cnf") else {
            guard thumbprint == nil else { throw invalid("it is not bound to the key of the proof") }
            return
        }
        guard let thumbprint else { throw invalid("it is bound to a key") }
        // A second kind of proof, such as a client certificate, is not checked here.
        guard confirmation == .object(["jkt": .string(thumbprint)]) else { throw invalid("it is bound to another key") }
    }

    private static func subject(in claims: JSONValue) throws -> String {
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count) else {
            throw invalid("it names no person")
        }
        return subject
    }
}
