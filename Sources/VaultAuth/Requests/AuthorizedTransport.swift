internal import Foundation
public import HTTPTypes
internal import Logging
internal import OpenIDConnect
public import VaultHTTP
public import VaultStorage

/// Sends requests with the access token of the person who is logged in. A token that ends soon is renewed first. If the
/// server refuses a token (401, or GraphQL's refusal in a 200), the request is sent once more with another token. If
/// many requests are refused at the same time, the provider is asked only once.
///
/// Only the given origins get the token. A request to another origin is sent without it. Redirects are not followed, so
/// a token cannot follow a redirect. Tokens that are bound to a key (RFC 9449) are sent with a proof.
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

    /// Sends `request` with a token, and returns the whole answer with any status.
    ///
    /// - Throws: `HTTPError` for the request itself. ``VaultError`` if there is no token: `notLoggedIn` (log in),
    ///   `refreshTokenExpired` or `refreshInterrupted` (the session is over: sign in again),
    ///   `identityProviderUnavailable`, `identityProviderTimedOut`, `identityProviderInterrupted` or
    ///   `identityProviderAnswerInvalid` (try again later).
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
    /// Makes a transport that sends requests with the access token of the person who is logged in.
    ///
    /// - Parameters:
    ///   - origins: the servers that may get the access token, as URLs. Only scheme, host and port matter.
    ///   - login: the result of ``signIn(_:)``, to send requests before the login is stored; nil for the account that
    ///     is logged in.
    ///   - leeway: a token that ends within this time is renewed before its use. 60 seconds by default.
    ///   - base: the transport of the requests; nil for the vault's own.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if an origin is not valid, or is plain `http:` to
    ///   another machine: correct the URL.
    public func authorizedTransport(
        for origins: [String], as login: RefreshToken?, leeway: Duration, over base: (any HTTPTransport)?
    ) throws -> any HTTPTransport {
        let known = try origins.map { text in
            guard let origin = Origin(text),
                origin.scheme == "https" || origin.scheme == "http" && LoopbackAddress.isLoopback(host: origin.host)
            else {
                throw VaultError(
                    .configurationInvalid,
                    "An access token cannot be sent to \(BaseURL.withoutUser(text)). Use an https URL. Plain http works only on this machine."
                )
            }
            return origin
        }
        return AuthorizedTransport(
            auth: self, login: login, origins: Set(known), base: base ?? transport, leeway: leeway)
    }

    /// Makes a proof that the sender holds the key of a bound access token (RFC 9449 section 4).
    ///
    /// - Parameters:
    ///   - method: the HTTP method of the request.
    ///   - url: the URL of the request, without query and fragment.
    ///   - accessToken: the access token of the request.
    ///   - nonce: the nonce that the server demanded last; nil for none.
    /// - Returns: the value of the header field `DPoP`.
    /// - Throws: ``VaultError`` with code `notLoggedIn` (log in), or `configurationInvalid` if the tokens are not bound
    ///   to a key (send no proof).
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
