internal import Foundation
public import HTTPTypes
internal import Logging
internal import OpenIDConnect
internal import VaultBase
public import VaultHTTP
public import VaultStorage
internal import VaultUnlock

/// Sends requests with the access token of a session. A token that ends soon is renewed first. If the server refuses a
/// token (401, or GraphQL's refusal in a 200), the request is sent once more with another token. If many requests are
/// refused at the same time, the provider is asked only once.
///
/// Only the given origins get the token. A request to another origin is sent without it. Redirects are not followed, so
/// a token cannot follow a redirect. Tokens that are bound to a key (RFC 9449) are sent with a proof.
///
/// ```swift
/// let api = try session.authorizedTransport(for: ["https://api.example.com"])
/// let answer = try await api.send(request, body: [], limits: HTTPLimits()).requireSuccess()
/// ```
public struct AuthorizedTransport: HTTPTransport {
    /// Returns the holder of the tokens for one request.
    private let holder: @Sendable () throws -> TokenHolder
    private let origins: Set<Origin>
    /// The account's own server on the local network, if the person allowed plain `http` for it.
    private let insecureOrigin: Origin?
    private let base: any HTTPTransport
    private let leeway: Duration
    private let clock: any WallClock
    private let logger: Logger
    private let nonces = DPoPNonces()

    /// - Parameter account: the account whose own server may have plain `http`; nil if the account is not known yet.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if an origin is not valid, or is plain `http:` to
    ///   another machine: correct the URL.
    init(
        for origins: [String], of account: AccountID?, over base: any HTTPTransport, leeway: Duration,
        clock: any WallClock, logger: Logger, _ holder: @escaping @Sendable () throws -> TokenHolder
    ) throws {
        let insecureOrigin = account.flatMap { $0.usesInsecureHTTP ? Origin($0.issuer) : nil }
        let known = try origins.map { text in
            guard let origin = Origin(text),
                origin.scheme == "https" || origin.scheme == "http" && LoopbackAddress.isLoopback(host: origin.host)
                    || origin == insecureOrigin
            else {
                throw VaultError(
                    .configurationInvalid,
                    "An access token cannot be sent to \(BaseURL.withoutUser(text)). Use an https URL. Plain http works only on this machine."
                )
            }
            return origin
        }
        self.holder = holder
        self.origins = Set(known)
        self.insecureOrigin = insecureOrigin
        self.base = base
        self.leeway = leeway
        (self.clock, self.logger) = (clock, logger)
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
        let holder = try holder()
        let token = try await holder.accessToken(minimumValidity: leeway)
        let answer = try await send(request, to: origin, with: token, of: holder, body: body, limits: limits)
        guard answer.isUnauthenticated else { return answer }
        logger.debug(
            "the access token was refused: asking for another one", metadata: ["origin": .string(origin.text)])
        let other = try await holder.accessToken(replacing: token)
        return try await send(request, to: origin, with: other, of: holder, body: body, limits: limits)
    }

    private func send(
        _ request: HTTPRequest, to origin: Origin, with token: AccessToken, of holder: TokenHolder, body: [UInt8],
        limits: HTTPLimits
    ) async throws -> HTTPAnswer {
        logger.trace(
            "sending a request with the access token",
            metadata: ["origin": .string(origin.text), "type": token.isBound ? "DPoP" : "Bearer"])
        let key = token.isBound ? try await holder.requiredProofKey() : nil
        let url = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "/")"
        var limits = limits
        limits.allowsInsecureHTTP = origin == insecureOrigin
        do {
            return try await DPoPRequest(
                request.method, url, fields: request.headerFields, key: key, accessToken: token.value
            ).send(nonces: nonces, clock: clock) { fields in
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
    /// Makes a transport that sends each request with the access token of the person who is logged in at that moment.
    ///
    /// - Warning: After another person's login, the same transport sends that person's token. Use
    ///   ``Session/authorizedTransport(for:leeway:over:)``, which belongs to one person. Use this one for a login that
    ///   is not stored yet, or in an app that only one person uses.
    ///
    /// - Parameters:
    ///   - origins: the servers that may get the access token, as URLs. Only scheme, host and port matter.
    ///   - login: the result of ``signIn(_:)``, to send requests before the login is stored; nil for the account that
    ///     is logged in.
    ///   - leeway: a token that ends within this time is renewed before its use. 60 seconds by default.
    ///   - base: the transport of the requests; nil for the vault's own.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if an origin is not valid, or is plain `http:` to
    ///   another machine: correct the URL. Only the server of `login` may have plain `http:`, if the person allowed it.
    public func authorizedTransport(
        for origins: [String], as login: SignInResult?, leeway: Duration, over base: (any HTTPTransport)?
    ) throws -> any HTTPTransport {
        try AuthorizedTransport(
            for: origins, of: login?.account, over: base ?? opener.transport, leeway: leeway, clock: accounts.clock,
            logger: accounts.logger
        ) { try self.holder(login) }
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
        return try await VaultError.converting {
            try key.proof(
                method: method, url: url, accessToken: accessToken.value, nonce: nonce, at: accounts.clock.now)
        }
    }
}

/// Scheme, host and port of a URL (RFC 6454). A token may be sent only to allowed origins.
package struct Origin: Hashable {
    let scheme: String
    let host: String
    let port: Int

    /// Nil if the text has no scheme or host, or has a user name.
    package init?(_ url: String) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil,
            let port = parts.port ?? ["https": 443, "http": 80][scheme]
        else { return nil }
        (self.scheme, self.host, self.port) = (scheme, host, port)
    }

    /// - Returns: nil, too, if the path could change the host, as `@elsewhere.example/` would.
    init?(of request: HTTPRequest) {
        guard request.path?.hasPrefix("/") ?? true,
            let authority = request.authority, !authority.contains(where: { "/?#@\\".contains($0) || $0.isWhitespace })
        else { return nil }
        self.init("\(request.scheme ?? "")://\(authority)")
    }

    var text: String { "\(scheme)://\(host):\(port)" }
}
