internal import Foundation
public import HTTPTypes
internal import Logging
internal import OpenIDConnect
public import VaultHTTP
public import VaultStorage

/// Sends requests in the name of whoever is logged in: with an access token that is renewed ahead of its end, and once
/// more when the server does not take it. However many requests meet a 401 at the same time, the provider is asked once.
///
/// The token goes to the given origins and to no other: a request to another one is sent without it. Redirects are not
/// followed, so a token cannot follow them either. A request that the server did not accept (401, or in GraphQL's way in
/// a 200) is sent a second time with another token, and not again. Tokens that are bound to a key (RFC 9449) are sent
/// with a proof.
///
/// ```swift
/// let api = try vault.auth.authorizedTransport(for: ["https://api.example.com"])
/// let answer = try await api.send(request, body: [], limits: HTTPLimits()).requireSuccess()
/// ```
public struct AuthorizedTransport: HTTPTransport {
    let auth: Auth
    /// A login that is not stored yet; nil for the person who is logged in.
    let login: RefreshToken?
    let origins: Set<Origin>
    let base: any HTTPTransport
    let leeway: Duration
    private let nonces = DPoPNonces()

    init(auth: Auth, login: RefreshToken?, origins: Set<Origin>, base: any HTTPTransport, leeway: Duration) {
        self.auth = auth
        self.login = login
        self.origins = origins
        self.base = base
        self.leeway = leeway
    }

    /// Sends `request` with a token, and returns the whole answer, whatever its status.
    ///
    /// - Throws: `HTTPError` for the request itself; ``VaultError`` when there is no token for it: `notLoggedIn`,
    ///   `refreshTokenExpired` or `refreshInterrupted` (the session is over: sign in again),
    ///   `identityProviderUnavailable` (try again later).
    public func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        guard let origin = Origin(of: request), origins.contains(origin) else {
            return try await base.send(request, body: body, limits: limits)
        }
        let holder = try auth.holder(login)
        let token = try await holder.accessToken(minimumValidity: leeway)
        let answer = try await send(request, to: origin, with: token, of: holder, body: body, limits: limits)
        guard answer.isUnauthenticated else { return answer }
        auth.accounts.logger.debug(
            "the access token was refused: asking for another one", metadata: ["origin": .string(origin.text)])
        let other = try await holder.accessToken(replacing: token)
        return try await send(request, to: origin, with: other, of: holder, body: body, limits: limits)
    }

    private func send(
        _ request: HTTPRequest, to origin: Origin, with token: AccessToken, of holder: TokenHolder, body: [UInt8],
        limits: HTTPLimits
    ) async throws -> HTTPAnswer {
        auth.accounts.logger.trace(
            "sending a request with the access token",
            metadata: ["origin": .string(origin.text), "type": token.isBound ? "DPoP" : "Bearer"])
        let key = token.isBound ? try await holder.requiredProofKey() : nil
        let url = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "/")"
        do {
            return try await DPoPRequest(
                request.method, url, fields: request.headerFields, key: key, accessToken: token.value
            ).send(nonces: nonces, clock: auth.accounts.clock) { fields in
                var request = request
                request.headerFields = fields
                return try await base.send(request, body: body, limits: limits)
            }
        } catch let error as OpenIDConnectError {
            throw VaultError.converting(error)
        }
    }
}

extension Auth {
    /// A transport that sends requests in the name of whoever is logged in.
    ///
    /// - Parameters:
    ///   - origins: where the access token may be sent: URLs, of which scheme, host and port count.
    ///   - login: what ``signIn(_:)`` returned, to send requests in its name before it is stored; nil for the
    ///     account that is logged in.
    ///   - leeway: a token that ends within this time is renewed before it is used. 60 seconds.
    ///   - base: what carries the requests; nil for the vault's own transport.
    /// - Throws: ``VaultError`` with code `configurationInvalid` when one of the origins is none, or plain `http:` to
    ///   another machine.
    public func authorizedTransport(
        for origins: [String], as login: RefreshToken?, leeway: Duration, over base: (any HTTPTransport)?
    ) throws -> any HTTPTransport {
        let known = try origins.map { text in
            guard let origin = Origin(text),
                origin.scheme == "https" || origin.scheme == "http" && LoopbackAddress.isLoopback(host: origin.host)
            else {
                throw VaultError(
                    .configurationInvalid,
                    "An access token cannot be sent to \(BaseURL.withoutUser(text)): it needs https (plain http only works on this machine)."
                )
            }
            return origin
        }
        return AuthorizedTransport(
            auth: self, login: login, origins: Set(known), base: base ?? transport, leeway: leeway)
    }

    /// A proof that whoever uses the access token holds the key that it is bound to (RFC 9449 section 4).
    ///
    /// - Parameters:
    ///   - method: the HTTP method of the request that it is for.
    ///   - url: the request's URL; query and fragment do not count.
    ///   - accessToken: the access token that the request carries.
    ///   - nonce: what the server demanded last, if it did.
    /// - Returns: the value of the header field `DPoP`.
    /// - Throws: ``VaultError``: `notLoggedIn`, and `configurationInvalid` when the tokens are not bound to a key.
    public func proof(
        method: String, url: String, accessToken: AccessToken, nonce: String?
    ) async throws -> String {
        let key = try await holder().requiredProofKey()
        return try await converting {
            try key.proof(
                method: method, url: url, accessToken: accessToken.value, nonce: nonce, at: accounts.clock.now)
        }
    }
}
